#include "engine/tensor/tensor.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "engine/base/bytes.hpp"
#include "engine/base/convert.hpp"
#include "engine/tensor/kernels.hpp"

namespace lockstep {

// The elements that tensors look at. Lives as long as the last tensor that looks.
class Storage {
 public:
  Storage(std::size_t bytes, DType dtype, Device& device, MemoryKind kind)
      : device_(device), bytes_(bytes), dtype_(dtype), kind_(kind), data_(device.allocate(bytes)) {
    device_.account(kind_, static_cast<std::int64_t>(bytes_));
  }
  // Over memory that was not allocated by the device.
  Storage(std::shared_ptr<std::byte> memory, std::size_t bytes, DType dtype, Device& device,
          MemoryKind kind)
      : device_(device),
        bytes_(bytes),
        dtype_(dtype),
        kind_(kind),
        data_(memory.get()),
        memory_(std::move(memory)) {
    device_.account(kind_, static_cast<std::int64_t>(bytes_));
  }
  ~Storage() {
    device_.account(kind_, -static_cast<std::int64_t>(bytes_));
    if (!memory_) device_.release(data_, bytes_);
  }
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  void relabel(MemoryKind kind) {
    device_.account(kind_, -static_cast<std::int64_t>(bytes_));
    kind_ = kind;
    device_.account(kind_, static_cast<std::int64_t>(bytes_));
  }

  std::byte* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  DType dtype() const { return dtype_; }
  MemoryKind kind() const { return kind_; }
  Device& device() const { return device_; }

 private:
  Device& device_;
  std::size_t bytes_;
  DType dtype_;
  MemoryKind kind_;
  std::byte* data_;
  std::shared_ptr<std::byte> memory_;  // the owner of data_, where that is not the device
};

namespace {

void check_pair(const char* operation, const Tensor& to, const Tensor& from) {
  LOCKSTEP_CHECK(
      to.defined() && from.defined(), operation, ": the tensor ",
      to.defined() ? "that is read" : "that is written",
      " is undefined; make it with empty, zeros or from_values first, or, of a grad that "
      "backward has not reached, ask defined()");
  LOCKSTEP_CHECK(to.numel() == from.numel() && to.dtype() == from.dtype(), operation, ": ",
                 name_of(to.dtype()), " ", text_of(to.shape()), " cannot take ",
                 name_of(from.dtype()), " ", text_of(from.shape()),
                 "; both need the same number of elements and the same dtype");
  const bool away =
      to.device().numbers() == Numbers::away || from.device().numbers() == Numbers::away;
  LOCKSTEP_CHECK(!away || &to.device() == &from.device(), operation, ": one tensor is on '",
                 to.device().name(), "', the other on '", from.device().name(),
                 "'; bring both to one device with to_device or to_host");
}

// The shape with its one -1 replaced by what makes it hold `numel` elements.
Shape with_size_inferred(Shape shape, const Shape& from, std::int64_t numel) {
  const auto unknown = std::ranges::find(shape, -1);
  if (unknown == shape.end()) return shape;
  *unknown = 1;
  const std::int64_t rest = numel_of(shape);
  *unknown = -1;
  LOCKSTEP_CHECK(rest > 0 && numel % rest == 0, "view: ", text_of(from), " has ", numel,
                 " elements, so that no size stands for the -1 of ", text_of(shape));
  *unknown = numel / rest;
  return shape;
}

}  // namespace

void Shape::refuse_axis() {
  contract_failed("axes_ < axes_max", __FILE__, __LINE__,
                  text("a shape has at most ", axes_max, " axes"));
}

std::int64_t numel_of(const Shape& shape) {
  std::int64_t numel = 1;
  for (const std::int64_t size : shape) {
    LOCKSTEP_CHECK(size >= 0, "shape ", text_of(shape), " has a negative size");
    LOCKSTEP_CHECK(!__builtin_mul_overflow(numel, size, &numel), "shape ", text_of(shape),
                   " has more elements than 64 bits can count");
  }
  return numel;
}

std::string text_of(const Shape& shape) {
  std::string list = "[";
  for (const std::int64_t size : shape) list += (list.size() > 1 ? ", " : "") + text(size);
  return list + "]";
}

std::int64_t Tensor::size(std::int64_t axis) const {
  LOCKSTEP_CHECK(axis >= 0 && axis < static_cast<std::int64_t>(shape_.size()), "size: axis ", axis,
                 " of a tensor of shape ", text_of(shape_));
  return shape_[static_cast<std::size_t>(axis)];
}

DType Tensor::dtype() const {
  LOCKSTEP_CHECK(defined(),
                 "an undefined tensor has no dtype; ask defined() first, as of the grad of a ",
                 "parameter that nobody used");
  return storage_->dtype();
}

Device& Tensor::device() const {
  LOCKSTEP_CHECK(defined(), "an undefined tensor is on no device");
  return storage_->device();
}

std::size_t Tensor::bytes() const {
  return defined() ? static_cast<std::size_t>(numel_) * bytes_of(dtype()) : 0;
}

std::byte* Tensor::address() const {
  LOCKSTEP_CHECK(defined(), "an undefined tensor has no elements");
  // Not by adding to a pointer: a device without numbers has null, one of sets no pointers at all.
  const auto start = reinterpret_cast<std::uintptr_t>(storage_->data());
  return reinterpret_cast<std::byte*>(start + static_cast<std::uintptr_t>(offset_) *
                                                  bytes_of(storage_->dtype()));
}

std::byte* Tensor::on_host() const {
  LOCKSTEP_CHECK(defined(), "an undefined tensor has no elements");
  const Device& device = storage_->device();
  const Numbers numbers = device.numbers();
  LOCKSTEP_CHECK(numbers != Numbers::none, "elements asked of a tensor of shape ", text_of(shape_),
                 " on the device '", device.name(), "', whose tensors have shapes and no numbers; ",
                 "leave out what depends on values, or make the tensor on a CpuDevice");
  LOCKSTEP_CHECK(numbers == Numbers::on_host, "elements asked of a tensor of shape ",
                 text_of(shape_), " on the device '", device.name(),
                 "', whose memory the host cannot read; ask to_host(tensor) for a copy");
  return address();
}

void Tensor::check_type(DType asked) const {
  LOCKSTEP_CHECK(dtype() == asked, "elements read as ", name_of(asked), " from a tensor of ",
                 name_of(dtype()));
}

Tensor Tensor::narrow(std::int64_t start, std::int64_t length) const {
  LOCKSTEP_CHECK(defined(), "narrow: the tensor is undefined");
  LOCKSTEP_CHECK(!shape_.empty(), "narrow: a tensor of shape [] has no axis to narrow");
  constexpr std::int64_t far_below = -(std::int64_t{1} << 24);  // further than a modulus goes
  LOCKSTEP_CHECK(start >= 0 && length >= 0 && start <= shape_[0] - length, "narrow: start ", start,
                 " and length ", length, " leave the first axis of ", text_of(shape_),
                 std::min(start, length) <= far_below
                     ? "; an int ends at 2,147,483,647: compute places in std::int64_t"
                 : start < 0 ? "; in C++ a % n is negative where a is: (a + n) % n"
                             : "");
  const std::int64_t row = shape_.size() == 1 ? 1 : shape_[0] == 0 ? 0 : numel_ / shape_[0];
  Tensor part = *this;
  part.shape_[0] = length;
  part.numel_ = length * row;
  part.offset_ = offset_ + start * row;
  return part;
}

Tensor Tensor::view(Shape shape) const {
  LOCKSTEP_CHECK(defined(), "view: the tensor is undefined");
  shape = with_size_inferred(std::move(shape), shape_, numel_);
  LOCKSTEP_CHECK(numel_of(shape) == numel_, "view: ", text_of(shape_), " has ", numel_,
                 " elements and cannot be seen as ", text_of(shape));
  Tensor same = *this;
  same.shape_ = std::move(shape);
  return same;
}

Tensor Tensor::empty_like(std::int64_t count) const { return empty({count}, dtype(), device()); }

Tensor Tensor::clone(MemoryKind kind) const {
  Tensor copy = empty(shape_, dtype(), device(), kind);
  copy.copy_(*this);
  return copy;
}

Tensor Tensor::to(DType dtype) const { return to(dtype, kind()); }

Tensor Tensor::to(DType dtype, MemoryKind kind) const {
  Tensor converted = empty(shape_, dtype, device(), kind);
  device().kernels().convert(*this, converted);
  device().charge(0, static_cast<double>(bytes() + converted.bytes()));
  return converted;
}

MemoryKind Tensor::kind() const {
  LOCKSTEP_CHECK(defined(), "an undefined tensor has no memory, hence no kind of it");
  return storage_->kind();
}

void Tensor::relabel(MemoryKind kind) const {
  LOCKSTEP_CHECK(defined(), "relabel: the tensor is undefined");
  storage_->relabel(kind);
}

bool Tensor::sole_owner() const {
  return defined() && storage_.use_count() == 1 && bytes() == storage_->bytes();
}

bool Tensor::same_place(const Tensor& other) const {
  return defined() && storage_ == other.storage_ && offset_ == other.offset_ &&
         numel_ == other.numel_;
}

void Tensor::copy_(const Tensor& source) const {
  check_pair("copy_", *this, source);
  device().kernels().copy(source, *this);
  device().charge(0, 2.0 * static_cast<double>(bytes()));
}

void Tensor::convert_(const Tensor& source) const {
  LOCKSTEP_CHECK(source.numel() == numel_, "convert_: ", source.numel(), " elements into ", numel_,
                 "; both tensors need as many");
  if (source.dtype() == dtype()) return copy_(source);
  device().kernels().convert(source, *this);
  device().charge(0, static_cast<double>(source.bytes() + bytes()));
}

void Tensor::reduce_(const Tensor& operand, ReduceOp op) const {
  check_pair("reduce_", *this, operand);
  const std::int64_t apart =
      offset_ > operand.offset_ ? offset_ - operand.offset_ : operand.offset_ - offset_;
  LOCKSTEP_CHECK(storage_ != operand.storage_ || apart == 0 || apart >= numel_,
                 "reduce_: the two tensors overlap in part; reduce a clone instead");
  device().kernels().reduce(operand, op, *this);
  device().charge(static_cast<double>(numel_), 3.0 * static_cast<double>(bytes()));
}

void Tensor::fill_(double value) const {
  visit_dtype(dtype(), [&]<typename T>() { static_cast<void>(element_of<T>(value)); });
  device().kernels().fill(value, *this);
  device().charge(0, static_cast<double>(bytes()));
}

void Tensor::scale_(double factor) const {
  LOCKSTEP_CHECK(!is_integer(dtype()), "scale_: the elements are ", name_of(dtype()), ", which ",
                 factor, " would round; scale a floating-point tensor");
  device().kernels().scale(*this, factor);
  device().charge(static_cast<double>(numel_), 2.0 * static_cast<double>(bytes()));
}

double Tensor::item(std::int64_t index) const {
  LOCKSTEP_CHECK(index >= 0 && index < numel_, "item: index ", index, " in a tensor of shape ",
                 text_of(shape_));
  return visit_dtype(dtype(), [&]<typename T>() {
    return static_cast<double>(data<T>()[static_cast<std::size_t>(index)]);
  });
}

namespace {

std::size_t bytes_of(const Shape& shape, DType dtype) {
  const std::int64_t numel = numel_of(shape);
  LOCKSTEP_CHECK(numel <= INT64_MAX / static_cast<std::int64_t>(bytes_of(dtype)), "shape ",
                 text_of(shape), " of ", name_of(dtype), " has more bytes than 64 bits can count");
  return static_cast<std::size_t>(numel) * bytes_of(dtype);
}

}  // namespace

Tensor::Tensor(Shape shape, std::shared_ptr<Storage> storage)
    : storage_(std::move(storage)), shape_(std::move(shape)), numel_(numel_of(shape_)) {}

Tensor empty(Shape shape, DType dtype, Device& device, MemoryKind kind) {
  const std::size_t bytes = bytes_of(shape, dtype);
  return {std::move(shape), std::make_shared<Storage>(bytes, dtype, device, kind)};
}

Tensor over_memory(std::shared_ptr<std::byte> memory, Shape shape, DType dtype, Device& device,
                   MemoryKind kind) {
  LOCKSTEP_CHECK(device.has_numbers(), "over_memory: tensors of the device '", device.name(),
                 "' have no elements, so no memory can hold them");
  const std::size_t bytes = bytes_of(shape, dtype);
  return {std::move(shape),
          std::make_shared<Storage>(std::move(memory), bytes, dtype, device, kind)};
}

Tensor zeros(Shape shape, DType dtype, Device& device, MemoryKind kind) {
  return full(std::move(shape), 0.0, dtype, device, kind);
}

Tensor full(Shape shape, double value, DType dtype, Device& device, MemoryKind kind) {
  Tensor tensor = empty(std::move(shape), dtype, device, kind);
  tensor.fill_(value);
  return tensor;
}

Tensor from_values(std::span<const double> values, Shape shape, DType dtype, Device& device,
                   MemoryKind kind) {
  Tensor tensor = empty(std::move(shape), dtype, device, kind);
  LOCKSTEP_CHECK(static_cast<std::int64_t>(values.size()) == tensor.numel(),
                 "from_values: ", values.size(), " values for shape ", text_of(tensor.shape()));
  if (device.on_host()) {
    convert_elements(DType::float64, std::as_bytes(values).data(), dtype, tensor.raw_bytes().data(),
                     tensor.numel());
  } else if (device.has_numbers()) {
    Bytes converted(tensor.bytes());
    convert_elements(DType::float64, std::as_bytes(values).data(), dtype, converted.data(),
                     tensor.numel());
    device.kernels().upload(converted, tensor);
  }
  device.charge(0, static_cast<double>(tensor.bytes()));
  return tensor;
}

Tensor to_device(const Tensor& tensor, Device& device) {
  Device& from = tensor.device();
  if (&from == &device || (from.on_host() && device.on_host())) return tensor;
  if (!from.on_host()) return to_device(to_host(tensor), device);
  const Tensor there = empty(tensor.shape(), tensor.dtype(), device, tensor.kind());
  if (device.has_numbers()) device.kernels().upload(tensor.raw_bytes(), there);
  return there;
}

Tensor to_host(const Tensor& tensor) { return to_host(std::span(&tensor, 1)).front(); }

std::vector<Tensor> to_host(std::span<const Tensor> tensors) {
  std::vector<Tensor> here(tensors.begin(), tensors.end());
  if (here.empty()) return here;
  Device& device = here.front().device();
  LOCKSTEP_CHECK(device.has_numbers(), "to_host: a tensor of shape ", text_of(here[0].shape()),
                 " on the device '", device.name(),
                 "' has a shape and no numbers; leave out what depends on values");
  for (const Tensor& tensor : here) {  // before any copy is asked for
    const bool both_here = tensor.device().on_host() && device.on_host();
    LOCKSTEP_CHECK(both_here || &tensor.device() == &device, "to_host: tensors of two devices, '",
                   device.name(), "' and '", tensor.device().name(), "'; ask for each by itself");
  }
  if (device.on_host()) return here;
  for (Tensor& tensor : here) {
    const Tensor copy = empty(tensor.shape(), tensor.dtype(), device.host(), tensor.kind());
    device.kernels().download(tensor, copy.raw_bytes());
    tensor = copy;
  }
  device.settle();
  return here;
}

double number_of(const Tensor& tensor, std::int64_t index) {
  LOCKSTEP_CHECK(tensor.defined(), "number_of: the tensor is undefined");
  return to_host(tensor.view({-1}).narrow(index, 1)).item();
}

std::vector<std::uint64_t> checksums_of(std::span<const Tensor> tensors) {
  std::vector<Tensor> sums;
  for (const Tensor& tensor : tensors) {
    LOCKSTEP_CHECK(tensor.device().has_numbers(), "checksums_of: a tensor on the device '",
                   tensor.device().name(), "' has no numbers; leave the call out there");
    sums.push_back(empty({1}, DType::int64, tensor.device()));
    tensor.device().kernels().checksum(tensor, sums.back());
  }
  std::vector<std::uint64_t> numbers;
  for (const Tensor& sum : to_host(sums)) {
    numbers.push_back(std::bit_cast<std::uint64_t>(sum.data<std::int64_t>()[0]));
  }
  return numbers;
}

}  // namespace lockstep
