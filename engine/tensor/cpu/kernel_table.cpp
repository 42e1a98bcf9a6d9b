#include "engine/tensor/cpu/kernel_table.hpp"

#include <type_traits>
#include <utility>

#include "engine/base/convert.hpp"

namespace lockstep::kernels {
namespace {

bool is_half(const Tensor& x) {
  return x.defined() && (x.dtype() == DType::bfloat16 || x.dtype() == DType::float16);
}

// A kernel's argument while the kernel runs: what is no half tensor as it is, a half one as float32
// in memory of its own, which is rounded back at the end where the kernel wrote it.
template <typename Argument>
class InFloat32 {
 public:
  InFloat32(const Argument& argument, Device&) : argument_(argument) {}
  const Argument& get() const { return argument_; }
  void round() const {}

 private:
  const Argument& argument_;
};

Tensor widened(const Tensor& x, Device& scratch) {
  if (!is_half(x)) return x;
  const Tensor wide = empty(x.shape(), DType::float32, scratch);
  convert(x, wide);
  return wide;
}

template <>
class InFloat32<Tensor> {
 public:
  InFloat32(const Tensor& x, Device& scratch) : wide_(widened(x, scratch)) {}
  const Tensor& get() const { return wide_; }
  void round() const {}

 private:
  Tensor wide_;
};

template <>
class InFloat32<InOut> {
 public:
  InFloat32(const InOut& x, Device& scratch) : half_(x.tensor), wide_(widened(x.tensor, scratch)) {}
  const Tensor& get() const { return wide_; }
  void round() const {
    if (is_half(half_)) convert(wide_, half_);
  }

 private:
  const Tensor& half_;
  Tensor wide_;
};

template <>
class InFloat32<Out> {
 public:
  InFloat32(const Out& x, Device& scratch)
      : half_(x.tensor),
        wide_(is_half(half_) ? empty(half_.shape(), DType::float32, scratch) : half_) {}
  const Tensor& get() const { return wide_; }
  void round() const {
    if (is_half(half_)) convert(wide_, half_);
  }

 private:
  const Tensor& half_;
  Tensor wide_;
};

const Tensor& tensor_of(const Tensor& x) { return x; }
const Tensor& tensor_of(const Out& x) { return x.tensor; }
const Tensor& tensor_of(const InOut& x) { return x.tensor; }
template <typename Argument>
const Argument& tensor_of(const Argument& argument) {
  return argument;
}
template <typename Argument>
bool is_half(const Argument& argument) {
  if constexpr (std::is_same_v<Argument, Out> || std::is_same_v<Argument, InOut>) {
    return is_half(argument.tensor);
  } else {
    static_cast<void>(argument);
    return false;
  }
}

// Runs a kernel that knows float32 and float64 only.
template <typename Kernel, typename... Arguments>
void compute(const Kernel& kernel, const Arguments&... arguments) {
  if (!(is_half(arguments) || ...)) return kernel(tensor_of(arguments)...);
  CpuDevice scratch;  // not the tensors' own, which counts what a program holds
  [&](const auto&... wide) {
    kernel(wide.get()...);
    (wide.round(), ...);
  }(InFloat32<Arguments>(arguments, scratch)...);
}

class CpuKernels final : public Kernels {
 public:
  CpuKernels(const Products& products, AttentionKernel attention)
      : products_(products), attention_(std::move(attention)) {}
  std::string_view name() const override { return products_.name; }

  void copy(const Tensor& from, Out to) const override { kernels::copy(from, to.tensor); }
  void copy_runs(const Tensor& from, const Runs& runs, InOut to) const override {
    kernels::copy_runs(from, runs, to.tensor);
  }
  void exchange(const Tensor& from, const Exchange& axes, Out to) const override {
    kernels::exchange(from, axes, to.tensor);
  }
  void reduce(const Tensor& operand, ReduceOp op, InOut into) const override {
    kernels::reduce(operand, op, into.tensor);
  }
  void fill(double value, Out to) const override { kernels::fill(value, to.tensor); }
  void convert(const Tensor& from, Out to) const override { kernels::convert(from, to.tensor); }
  void checksum(const Tensor& x, Out sum) const override { kernels::checksum(x, sum.tensor); }
  void upload(std::span<const std::byte> from, Out to) const override {
    kernels::upload(from, to.tensor);
  }
  void download(const Tensor& from, std::span<std::byte> to) const override {
    kernels::download(from, to);
  }
  void check_indices(const Tensor& indices, const IndexRule& rule) const override {
    kernels::check_indices(indices, rule);
  }
  void scale(InOut x, double factor) const override { kernels::scale(x.tensor, factor); }
  void scale_by(InOut x, const Tensor& factor) const override {
    compute(kernels::scale_by, x, factor);
  }
  void scaled(const Tensor& x, double factor, Out y) const override {
    vectorised(kernels::scaled, x, factor, y);
  }
  void activate(const Tensor& x, ops::Activation activation, Out y) const override {
    vectorised(kernels::activate, x, activation, y);
  }
  void activate_backward(const Tensor& grad, const Tensor& x, ops::Activation activation,
                         Out out) const override {
    vectorised(kernels::activate_backward, grad, x, activation, out);
  }
  void combine(Binary operation, const Tensor& a, const Tensor& b, Out c) const override {
    vectorised(kernels::combine, operation, a, b, c);
  }
  void sum_to(const Tensor& x, Out total) const override { vectorised(kernels::sum_to, x, total); }
  void add_squares(const Tensor& x, InOut total) const override {
    vectorised(kernels::add_squares, x, total);
  }
  void clip_factor(const Tensor& squares, double max_norm, Out norm, Out factor) const override {
    compute(kernels::clip_factor, squares, max_norm, norm, factor);
  }
  void matmul(const Tensor& a, ops::Transpose transpose_a, const Tensor& b,
              ops::Transpose transpose_b, Out c) const override {
    compute([this](const auto&... all) { kernels::matmul(products_, all...); }, a, transpose_a, b,
            transpose_b, c);
  }
  void add_row(const Tensor& row, InOut x) const override { vectorised(kernels::add_row, row, x); }
  void sum_rows(const Tensor& x, Out sum) const override { vectorised(kernels::sum_rows, x, sum); }
  void softmax(const Tensor& x, Out y) const override { vectorised(kernels::softmax, x, y); }
  void softmax_backward(const Tensor& grad, const Tensor& y, Out out) const override {
    vectorised(kernels::softmax_backward, grad, y, out);
  }
  void cross_entropy(const Tensor& logits, const Tensor& labels,
                     const ops::CrossEntropyOptions& options, Out probabilities,
                     Out loss) const override {
    vectorised(kernels::cross_entropy, logits, labels, options, probabilities, loss);
  }
  void cross_entropy_backward(const Tensor& grad, const Tensor& probabilities, const Tensor& labels,
                              const ops::CrossEntropyOptions& options, Out out) const override {
    vectorised(kernels::cross_entropy_backward, grad, probabilities, labels, options, out);
  }
  void row_maximum(const Tensor& logits, const ops::ColumnSplit& columns,
                   Out maximum) const override {
    vectorised(kernels::row_maximum, logits, columns, maximum);
  }
  void sum_of_exponentials(const Tensor& logits, const Tensor& maximum,
                           const ops::ColumnSplit& columns, Out sum) const override {
    vectorised(kernels::sum_of_exponentials, logits, maximum, columns, sum);
  }
  void picked_logits(const Tensor& logits, const Tensor& labels, const ops::ColumnSplit& columns,
                     const ops::CrossEntropyOptions& options, Out picked) const override {
    compute(kernels::picked_logits, logits, labels, columns, options, picked);
  }
  void split_cross_entropy(const Tensor& maximum, const Tensor& sum, const Tensor& picked,
                           const Tensor& labels, const ops::CrossEntropyOptions& options,
                           Out loss) const override {
    compute(kernels::split_cross_entropy, maximum, sum, picked, labels, options, loss);
  }
  void split_cross_entropy_backward(const Tensor& grad, const Tensor& logits, const Tensor& maximum,
                                    const Tensor& sum, const Tensor& labels,
                                    const ops::ColumnSplit& columns,
                                    const ops::CrossEntropyOptions& options,
                                    Out out) const override {
    vectorised(kernels::split_cross_entropy_backward, grad, logits, maximum, sum, labels, columns,
               options, out);
  }
  void count_correct(const Tensor& logits, const Tensor& labels, Out count) const override {
    compute(kernels::count_correct, logits, labels, count);
  }
  void normalize(const Tensor& x, const Tensor& weight, const Tensor& bias, double epsilon, Out y,
                 Out mean, Out inverse_deviation) const override {
    vectorised(kernels::normalize, x, weight, bias, epsilon, y, mean, inverse_deviation);
  }
  void normalize_again(const Tensor& x, const Tensor& weight, const Tensor& bias,
                       const Tensor& mean, const Tensor& inverse_deviation, Out y) const override {
    vectorised(kernels::normalize_again, x, weight, bias, mean, inverse_deviation, y);
  }
  void norm_backward(const Tensor& grad, const Tensor& x, const Tensor& weight, const Tensor& mean,
                     const Tensor& inverse_deviation, Out dx, Out dweight,
                     Out dbias) const override {
    vectorised(kernels::norm_backward, grad, x, weight, mean, inverse_deviation, dx, dweight,
               dbias);
  }
  void embedding(const Tensor& table, const Tensor& indices, std::int64_t first,
                 Out rows) const override {
    compute(kernels::embedding, table, indices, first, rows);
  }
  void embedding_backward(const Tensor& grad, const Tensor& indices, std::int64_t first,
                          Out table) const override {
    compute(kernels::embedding_backward, grad, indices, first, table);
  }
  void dropout(const Tensor& x, const ops::DropoutMask& mask, Out y) const override {
    compute(kernels::dropout, x, mask, y);
  }
  void attention(const Tensor& queries, const Tensor& keys_values,
                 const ops::AttentionOptions& options, Out output, Out log_sums) const override {
    if (attention_) return attention_(queries, keys_values, options, output, log_sums);
    compute([this](const auto&... all) { kernels::attention(products_, all...); }, queries,
            keys_values, options, output, log_sums);
  }
  void attention_backward(const Tensor& grad, const Tensor& queries, const Tensor& keys_values,
                          const Tensor& output, const Tensor& log_sums,
                          const ops::AttentionOptions& options, Out of_queries,
                          Out of_keys_values) const override {
    compute([this](const auto&... all) { kernels::attention_backward(products_, all...); }, grad,
            queries, keys_values, output, log_sums, options, of_queries, of_keys_values);
  }
  void merge_attention(const Tensor& block_output, const Tensor& block_log_sums, InOut output,
                       InOut log_sums) const override {
    compute(kernels::merge_attention, block_output, block_log_sums, output, log_sums);
  }
  void sgd(const Tensor& grad, const SgdRule& rule, InOut value, InOut velocity) const override {
    vectorised(kernels::sgd, grad, rule, value, velocity);
  }
  void adam(const Tensor& grad, const AdamRule& rule, std::int64_t updates, InOut value,
            InOut first, InOut second) const override {
    vectorised(kernels::adam, grad, rule, updates, value, first, second);
  }
  void unscale(InOut x, double factor, InOut found) const override {
    compute(kernels::unscale, x, factor, found);
  }

 private:
  // Runs a kernel that is compiled for each Isa.
  template <typename Kernel, typename... Arguments>
  void vectorised(const Kernel& kernel, const Arguments&... arguments) const {
    compute([&](const auto&... all) { kernel(products_.isa, all...); }, arguments...);
  }

  Products products_;
  AttentionKernel attention_;
};

}  // namespace

std::unique_ptr<const Kernels> make_kernel_table(const Products& products,
                                                 AttentionKernel attention) {
  return std::make_unique<CpuKernels>(products, std::move(attention));
}

}  // namespace lockstep::kernels
