#include "engine/tensor/tensor.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "engine/base/convert.hpp"
#include "engine/tensor/contributors.hpp"
#include "engine/tensor/visit_float.hpp"

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

// Also where no number lies.
const std::byte* place_of(const Storage& storage, std::int64_t offset) {
  return storage.data() + static_cast<std::size_t>(offset) * bytes_of(storage.dtype());
}

void check_pair(const char* operation, const Tensor& to, const Tensor& from) {
  LOCKSTEP_CHECK(to.defined() && from.defined(), operation,
                 ": a tensor is undefined; make it with empty, zeros or from_values first");
  LOCKSTEP_CHECK(to.numel() == from.numel() && to.dtype() == from.dtype(), operation, ": ",
                 name_of(to.dtype()), " ", text_of(to.shape()), " cannot take ",
                 name_of(from.dtype()), " ", text_of(from.shape()),
                 "; both need the same number of elements and the same dtype");
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

std::byte* Tensor::raw() const {
  LOCKSTEP_CHECK(defined(), "an undefined tensor has no elements");
  LOCKSTEP_CHECK(device().has_numbers(), "elements asked of a tensor of shape ", text_of(shape_),
                 " on the device '", device().name(),
                 "', whose tensors have shapes and no numbers; ",
                 "leave out what depends on values, or make the tensor on a CpuDevice");
  return storage_->data() + static_cast<std::size_t>(offset_) * bytes_of(dtype());
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
                 start >= 0 ? ""
                 : start > far_below
                     ? "; in C++ a % n is negative where a is: (a + n) % n"
                     : "; an int ends at 2,147,483,647: compute places in std::int64_t");
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
  if (device().has_numbers()) {
    convert_elements(this->dtype(), raw(), dtype, converted.raw(), numel_);
  }
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
  // memmove: source and destination may be overlapping windows of one storage.
  if (device().has_numbers() && numel_ > 0) std::memmove(raw(), source.raw(), bytes());
  if (const auto* sets = contributors_of(device())) {
    sets->world().copy(place_of(*storage_, offset_), place_of(*source.storage_, source.offset_),
                       bytes());
  }
  device().charge(0, 2.0 * static_cast<double>(bytes()));
}

void Tensor::reduce_(const Tensor& operand, ReduceOp op) const {
  check_pair("reduce_", *this, operand);
  const std::int64_t apart =
      offset_ > operand.offset_ ? offset_ - operand.offset_ : operand.offset_ - offset_;
  LOCKSTEP_CHECK(storage_ != operand.storage_ || apart == 0 || apart >= numel_,
                 "reduce_: the two tensors overlap in part; reduce a clone instead");
  if (device().has_numbers()) reduce_elements(dtype(), op, raw(), operand.raw(), numel_);
  if (const auto* sets = contributors_of(device())) {
    sets->world().unite(place_of(*storage_, offset_), place_of(*operand.storage_, operand.offset_),
                        bytes());
  }
  device().charge(static_cast<double>(numel_), 3.0 * static_cast<double>(bytes()));
}

void Tensor::fill_(double value) const {
  visit_elements(*this, [&]<typename T>() { std::ranges::fill(data<T>(), element_of<T>(value)); });
  if (const auto* sets = contributors_of(device())) {
    sets->world().fill(place_of(*storage_, offset_), bytes(),
                       value == 0 ? RankSet() : RankSet(sets->rank()));
  }
  device().charge(0, static_cast<double>(bytes()));
}

void Tensor::scale_(double factor) const {
  LOCKSTEP_CHECK(!is_integer(dtype()), "scale_: the elements are ", name_of(dtype()), ", which ",
                 factor, " would round; scale a floating-point tensor");
  visit_elements(*this, [&]<typename T>() {
    // Of a half the arithmetic type is float32.
    using Wide = std::conditional_t<sizeof(T) == 2, float, T>;
    const auto by = static_cast<Wide>(factor);
    for (T& element : data<T>()) element = static_cast<T>(static_cast<Wide>(element) * by);
  });
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
  if (device.has_numbers()) {
    convert_elements(DType::float64, std::as_bytes(values).data(), dtype, tensor.raw_bytes().data(),
                     tensor.numel());
  }
  device.charge(0, static_cast<double>(tensor.bytes()));
  return tensor;
}

}  // namespace lockstep
