#include "tests/tensor/far_device.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine/tensor/kernels.hpp"

namespace lockstep::test {

namespace {

constexpr std::size_t alignment = 64;

std::size_t rounded(std::size_t bytes) {
  return std::max(alignment, (bytes + alignment - 1) / alignment * alignment);
}

class FarKernels final : public Kernels {
 public:
  explicit FarKernels(const FarDevice& device) : device_(device) {}
  std::string_view name() const override { return "far"; }

  void copy(const Tensor& from, Out to) const override { launch<&Kernels::copy>(from, to); }
  void copy_runs(const Tensor& from, const Runs& runs, InOut to) const override {
    launch<&Kernels::copy_runs>(from, runs, to);
  }
  void exchange(const Tensor& from, const Exchange& axes, Out to) const override {
    launch<&Kernels::exchange>(from, axes, to);
  }
  void reduce(const Tensor& operand, ReduceOp op, InOut into) const override {
    launch<&Kernels::reduce>(operand, op, into);
  }
  void fill(double value, Out to) const override { launch<&Kernels::fill>(value, to); }
  void convert(const Tensor& from, Out to) const override { launch<&Kernels::convert>(from, to); }
  void checksum(const Tensor& x, Out sum) const override { launch<&Kernels::checksum>(x, sum); }
  void upload(std::span<const std::byte> from, Out to) const override {
    device_.launch(
        [bytes = std::vector<std::byte>(from.begin(), from.end()),
         to = device_.alias_of(to.tensor)] { std::ranges::copy(bytes, to.raw_bytes().begin()); });
  }
  void download(const Tensor& from, std::span<std::byte> to) const override {
    device_.catch_up();
    std::ranges::copy(device_.alias_of(from).raw_bytes(), to.begin());
  }
  void check_indices(const Tensor& indices, const IndexRule& rule) const override {
    launch<&Kernels::check_indices>(indices, rule);
  }

  void scale(InOut x, double factor) const override { launch<&Kernels::scale>(x, factor); }
  void scale_by(InOut x, const Tensor& factor) const override {
    launch<&Kernels::scale_by>(x, factor);
  }
  void scaled(const Tensor& x, double factor, Out y) const override {
    launch<&Kernels::scaled>(x, factor, y);
  }
  void activate(const Tensor& x, ops::Activation activation, Out y) const override {
    launch<&Kernels::activate>(x, activation, y);
  }
  void activate_backward(const Tensor& grad, const Tensor& x, ops::Activation activation,
                         Out out) const override {
    launch<&Kernels::activate_backward>(grad, x, activation, out);
  }
  void combine(Binary operation, const Tensor& a, const Tensor& b, Out c) const override {
    launch<&Kernels::combine>(operation, a, b, c);
  }
  void sum_to(const Tensor& x, Out total) const override { launch<&Kernels::sum_to>(x, total); }
  void add_squares(const Tensor& x, InOut total) const override {
    launch<&Kernels::add_squares>(x, total);
  }
  void clip_factor(const Tensor& squares, double max_norm, Out norm, Out factor) const override {
    launch<&Kernels::clip_factor>(squares, max_norm, norm, factor);
  }

  void matmul(const Tensor& a, ops::Transpose transpose_a, const Tensor& b,
              ops::Transpose transpose_b, Out c) const override {
    launch<&Kernels::matmul>(a, transpose_a, b, transpose_b, c);
  }
  void add_row(const Tensor& row, InOut x) const override { launch<&Kernels::add_row>(row, x); }
  void sum_rows(const Tensor& x, Out sum) const override { launch<&Kernels::sum_rows>(x, sum); }

  void softmax(const Tensor& x, Out y) const override { launch<&Kernels::softmax>(x, y); }
  void softmax_backward(const Tensor& grad, const Tensor& y, Out out) const override {
    launch<&Kernels::softmax_backward>(grad, y, out);
  }
  void cross_entropy(const Tensor& logits, const Tensor& labels,
                     const ops::CrossEntropyOptions& options, Out probabilities,
                     Out loss) const override {
    launch<&Kernels::cross_entropy>(logits, labels, options, probabilities, loss);
  }
  void cross_entropy_backward(const Tensor& grad, const Tensor& probabilities, const Tensor& labels,
                              const ops::CrossEntropyOptions& options, Out out) const override {
    launch<&Kernels::cross_entropy_backward>(grad, probabilities, labels, options, out);
  }
  void row_maximum(const Tensor& logits, const ops::ColumnSplit& columns,
                   Out maximum) const override {
    launch<&Kernels::row_maximum>(logits, columns, maximum);
  }
  void sum_of_exponentials(const Tensor& logits, const Tensor& maximum,
                           const ops::ColumnSplit& columns, Out sum) const override {
    launch<&Kernels::sum_of_exponentials>(logits, maximum, columns, sum);
  }
  void picked_logits(const Tensor& logits, const Tensor& labels, const ops::ColumnSplit& columns,
                     const ops::CrossEntropyOptions& options, Out picked) const override {
    launch<&Kernels::picked_logits>(logits, labels, columns, options, picked);
  }
  void split_cross_entropy(const Tensor& maximum, const Tensor& sum, const Tensor& picked,
                           const Tensor& labels, const ops::CrossEntropyOptions& options,
                           Out loss) const override {
    launch<&Kernels::split_cross_entropy>(maximum, sum, picked, labels, options, loss);
  }
  void split_cross_entropy_backward(const Tensor& grad, const Tensor& logits, const Tensor& maximum,
                                    const Tensor& sum, const Tensor& labels,
                                    const ops::ColumnSplit& columns,
                                    const ops::CrossEntropyOptions& options,
                                    Out out) const override {
    launch<&Kernels::split_cross_entropy_backward>(grad, logits, maximum, sum, labels, columns,
                                                   options, out);
  }
  void count_correct(const Tensor& logits, const Tensor& labels, Out count) const override {
    launch<&Kernels::count_correct>(logits, labels, count);
  }

  void normalize(const Tensor& x, const Tensor& weight, const Tensor& bias, double epsilon, Out y,
                 Out mean, Out inverse_deviation) const override {
    launch<&Kernels::normalize>(x, weight, bias, epsilon, y, mean, inverse_deviation);
  }
  void normalize_again(const Tensor& x, const Tensor& weight, const Tensor& bias,
                       const Tensor& mean, const Tensor& inverse_deviation, Out y) const override {
    launch<&Kernels::normalize_again>(x, weight, bias, mean, inverse_deviation, y);
  }
  void norm_backward(const Tensor& grad, const Tensor& x, const Tensor& weight, const Tensor& mean,
                     const Tensor& inverse_deviation, Out dx, Out dweight,
                     Out dbias) const override {
    launch<&Kernels::norm_backward>(grad, x, weight, mean, inverse_deviation, dx, dweight, dbias);
  }

  void embedding(const Tensor& table, const Tensor& indices, std::int64_t first,
                 Out rows) const override {
    launch<&Kernels::embedding>(table, indices, first, rows);
  }
  void embedding_backward(const Tensor& grad, const Tensor& indices, std::int64_t first,
                          Out table) const override {
    launch<&Kernels::embedding_backward>(grad, indices, first, table);
  }
  void dropout(const Tensor& x, const ops::DropoutMask& mask, Out y) const override {
    launch<&Kernels::dropout>(x, mask, y);
  }

  void attention(const Tensor& queries, const Tensor& keys_values,
                 const ops::AttentionOptions& options, Out output, Out log_sums) const override {
    launch<&Kernels::attention>(queries, keys_values, options, output, log_sums);
  }
  void attention_backward(const Tensor& grad, const Tensor& queries, const Tensor& keys_values,
                          const Tensor& output, const Tensor& log_sums,
                          const ops::AttentionOptions& options, Out of_queries,
                          Out of_keys_values) const override {
    launch<&Kernels::attention_backward>(grad, queries, keys_values, output, log_sums, options,
                                         of_queries, of_keys_values);
  }

  void merge_attention(const Tensor& block_output, const Tensor& block_log_sums, InOut output,
                       InOut log_sums) const override {
    launch<&Kernels::merge_attention>(block_output, block_log_sums, output, log_sums);
  }

  void sgd(const Tensor& grad, const SgdRule& rule, InOut value, InOut velocity) const override {
    launch<&Kernels::sgd>(grad, rule, value, velocity);
  }
  void adam(const Tensor& grad, const AdamRule& rule, std::int64_t updates, InOut value,
            InOut first, InOut second) const override {
    launch<&Kernels::adam>(grad, rule, updates, value, first, second);
  }
  void unscale(InOut x, double factor, InOut found) const override {
    launch<&Kernels::unscale>(x, factor, found);
  }

 private:
  // Tensors of any role become their aliases, which are taken now: where a tensor's memory is
  // reused, that was launched later. All else is kept by value.
  template <typename Argument>
  auto aliased(const Argument& argument) const {
    if constexpr (std::is_same_v<Argument, Out> || std::is_same_v<Argument, InOut>) {
      return device_.alias_of(argument.tensor);
    } else if constexpr (std::is_same_v<Argument, Tensor>) {
      return device_.alias_of(argument);
    } else {
      return argument;
    }
  }

  template <auto kernel, typename... Arguments>
  void launch(const Arguments&... arguments) const {
    device_.launch(
        [&table = device_.kernels_of_alias(), aliases = std::tuple(aliased(arguments)...)] {
          std::apply([&](const auto&... alias) { (table.*kernel)(alias...); }, aliases);
        });
  }

  const FarDevice& device_;
};

std::byte* mapped(int file, std::size_t bytes, int protection) {
  void* at = mmap(nullptr, bytes, protection, MAP_SHARED | MAP_NORESERVE, file, 0);
  if (at == MAP_FAILED) throw Error(text("far: ", bytes, " bytes cannot be mapped"));
  return static_cast<std::byte*>(at);
}

}  // namespace

FarDevice::FarDevice(std::size_t bytes)
    : Device(Numbers::away),
      bytes_(rounded(bytes)),
      kernels_(std::make_unique<FarKernels>(*this)),
      free_{{0, bytes_}} {
  const int file = memfd_create("far", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, static_cast<off_t>(bytes_)) != 0) {
    throw Error(text("far: no file in memory of ", bytes_, " bytes can be made"));
  }
  far_ = mapped(file, bytes_, PROT_NONE);
  alias_ = mapped(file, bytes_, PROT_READ | PROT_WRITE);
  close(file);
}

FarDevice::~FarDevice() {
  queue_.clear();
  munmap(far_, bytes_);
  munmap(alias_, bytes_);
}

// The first place that is large enough.
std::byte* FarDevice::allocate(std::size_t bytes) {
  const std::scoped_lock lock(mutex_);
  const std::size_t needed = rounded(bytes);
  const auto place =
      std::ranges::find_if(free_, [&](const auto& each) { return each.second >= needed; });
  if (place == free_.end()) {
    throw Error(text("far: ", bytes, " bytes asked for a tensor, but the device's ", bytes_,
                     " bytes are spent; make the model or the batch smaller"));
  }
  const auto [offset, room] = *place;
  free_.erase(place);
  if (room > needed) free_.emplace(offset + needed, room - needed);
  queue_.emplace_back([at = alias_ + offset, needed] { std::memset(at, 0xFF, needed); });
  return far_ + offset;
}

void FarDevice::release(std::byte* data, std::size_t bytes) noexcept {
  const std::scoped_lock lock(mutex_);
  auto place = free_.emplace(static_cast<std::size_t>(data - far_), rounded(bytes)).first;
  if (place != free_.begin()) {
    const auto before = std::prev(place);
    if (before->first + before->second == place->first) {
      before->second += place->second;
      free_.erase(place);
      place = before;
    }
  }
  const auto after = std::next(place);
  if (after != free_.end() && place->first + place->second == after->first) {
    place->second += after->second;
    free_.erase(after);
  }
}

void FarDevice::launch(std::function<void()> work) const {
  const std::scoped_lock lock(mutex_);
  queue_.push_back(std::move(work));
}

void FarDevice::catch_up() const {
  const std::scoped_lock lock(mutex_);
  for (; !queue_.empty(); queue_.pop_front()) {
    try {
      queue_.front()();
    } catch (...) {
      if (!found_) found_ = std::current_exception();
    }
  }
}

std::size_t FarDevice::launches_waiting() const {
  const std::scoped_lock lock(mutex_);
  return queue_.size();
}

Tensor FarDevice::alias_of(const Tensor& tensor) const {
  if (!tensor.defined()) return {};
  LOCKSTEP_CHECK(&tensor.device() == this, "a kernel of the device 'far' is given a tensor of '",
                 tensor.device().name(), "'; bring it with to_device");
  const std::ptrdiff_t offset = tensor.address() - far_;
  LOCKSTEP_CHECK(offset >= 0 && static_cast<std::size_t>(offset) + tensor.bytes() <= bytes_,
                 "a tensor of shape ", text_of(tensor.shape()), " lies outside the far memory");
  const std::shared_ptr<std::byte> memory(alias_ + offset, [](std::byte*) {});
  return over_memory(memory, tensor.shape(), tensor.dtype(), work_);
}

void FarDevice::finish() {
  catch_up();
  const std::scoped_lock lock(mutex_);
  if (const std::exception_ptr found = std::exchange(found_, nullptr)) {
    std::rethrow_exception(found);
  }
}

}  // namespace lockstep::test
