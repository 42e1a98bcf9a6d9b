// The table: each function hands its tensors on to the kernel of its name.
#include "engine/gpu/cuda_kernels.hpp"

#include "engine/gpu/cuda_check.hpp"
#include "engine/gpu/kernels/table.hpp"

namespace lockstep::gpu {

CudaKernels::CudaKernels(cudaStream_t stream, cublasHandle_t blas, FaultBox& faults,
                         Scratch& scratch, Staging& staging)
    : stream_(stream), blas_(blas), faults_(faults), scratch_(scratch), staging_(staging) {
  check(cublasSetStream(blas_, stream_), "cublasSetStream");
  // Without this, partial sums of halves may be halves themselves.
  const auto mode = static_cast<cublasMath_t>(CUBLAS_DEFAULT_MATH |
                                              CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION);
  check(cublasSetMathMode(blas_, mode), "cublasSetMathMode");
}

Call CudaKernels::call() const { return {stream_, faults_, scratch_}; }

void CudaKernels::upload(std::span<const std::byte> from, Out to) const {
  if (!from.empty()) staging_.upload(from, to.tensor.address());
}
void CudaKernels::download(const Tensor& from, std::span<std::byte> to) const {
  if (!to.empty()) staging_.download(from.address(), to);
}
void CudaKernels::copy(const Tensor& from, Out to) const { kernels::copy(call(), from, to.tensor); }
void CudaKernels::copy_runs(const Tensor& from, const Runs& runs, InOut to) const {
  kernels::copy_runs(call(), from, runs, to.tensor);
}
void CudaKernels::exchange(const Tensor& from, const Exchange& axes, Out to) const {
  kernels::exchange(call(), from, axes, to.tensor);
}
void CudaKernels::reduce(const Tensor& operand, ReduceOp op, InOut into) const {
  kernels::reduce(call(), operand, op, into.tensor);
}
void CudaKernels::fill(double value, Out to) const { kernels::fill(call(), value, to.tensor); }
void CudaKernels::convert(const Tensor& from, Out to) const {
  kernels::convert(call(), from, to.tensor);
}
void CudaKernels::checksum(const Tensor& x, Out sum) const {
  kernels::checksum(call(), x, sum.tensor);
}
void CudaKernels::check_indices(const Tensor& indices, const IndexRule& rule) const {
  kernels::check_indices(call(), indices, rule);
}
void CudaKernels::scale(InOut x, double factor) const { kernels::scale(call(), x.tensor, factor); }
void CudaKernels::scale_by(InOut x, const Tensor& factor) const {
  kernels::scale_by(call(), x.tensor, factor);
}
void CudaKernels::scaled(const Tensor& x, double factor, Out y) const {
  kernels::scaled(call(), x, factor, y.tensor);
}
void CudaKernels::activate(const Tensor& x, ops::Activation activation, Out y) const {
  kernels::activate(call(), x, activation, y.tensor);
}
void CudaKernels::activate_backward(const Tensor& grad, const Tensor& x, ops::Activation activation,
                                    Out out) const {
  kernels::activate_backward(call(), grad, x, activation, out.tensor);
}
void CudaKernels::combine(Binary operation, const Tensor& a, const Tensor& b, Out c) const {
  kernels::combine(call(), operation, a, b, c.tensor);
}
void CudaKernels::sum_to(const Tensor& x, Out total) const {
  kernels::sum_to(call(), x, total.tensor);
}
void CudaKernels::add_squares(const Tensor& x, InOut total) const {
  kernels::add_squares(call(), x, total.tensor);
}
void CudaKernels::clip_factor(const Tensor& squares, double max_norm, Out norm, Out factor) const {
  kernels::clip_factor(call(), squares, max_norm, norm.tensor, factor.tensor);
}
void CudaKernels::matmul(const Tensor& a, ops::Transpose transpose_a, const Tensor& b,
                         ops::Transpose transpose_b, Out c) const {
  kernels::matmul(call(), blas_, a, transpose_a, b, transpose_b, c.tensor);
}
void CudaKernels::add_row(const Tensor& row, InOut x) const {
  kernels::add_row(call(), row, x.tensor);
}
void CudaKernels::sum_rows(const Tensor& x, Out sum) const {
  kernels::sum_rows(call(), x, sum.tensor);
}
void CudaKernels::softmax(const Tensor& x, Out y) const { kernels::softmax(call(), x, y.tensor); }
void CudaKernels::softmax_backward(const Tensor& grad, const Tensor& y, Out out) const {
  kernels::softmax_backward(call(), grad, y, out.tensor);
}
void CudaKernels::cross_entropy(const Tensor& logits, const Tensor& labels,
                                const ops::CrossEntropyOptions& options, Out probabilities,
                                Out loss) const {
  kernels::cross_entropy(call(), logits, labels, options, probabilities.tensor, loss.tensor);
}
void CudaKernels::cross_entropy_backward(const Tensor& grad, const Tensor& probabilities,
                                         const Tensor& labels,
                                         const ops::CrossEntropyOptions& options, Out out) const {
  kernels::cross_entropy_backward(call(), grad, probabilities, labels, options, out.tensor);
}
void CudaKernels::row_maximum(const Tensor& logits, const ops::ColumnSplit& columns,
                              Out maximum) const {
  kernels::row_maximum(call(), logits, columns, maximum.tensor);
}
void CudaKernels::sum_of_exponentials(const Tensor& logits, const Tensor& maximum,
                                      const ops::ColumnSplit& columns, Out sum) const {
  kernels::sum_of_exponentials(call(), logits, maximum, columns, sum.tensor);
}
void CudaKernels::picked_logits(const Tensor& logits, const Tensor& labels,
                                const ops::ColumnSplit& columns,
                                const ops::CrossEntropyOptions& options, Out picked) const {
  kernels::picked_logits(call(), logits, labels, columns, options, picked.tensor);
}
void CudaKernels::split_cross_entropy(const Tensor& maximum, const Tensor& sum,
                                      const Tensor& picked, const Tensor& labels,
                                      const ops::CrossEntropyOptions& options, Out loss) const {
  kernels::split_cross_entropy(call(), maximum, sum, picked, labels, options, loss.tensor);
}
void CudaKernels::split_cross_entropy_backward(const Tensor& grad, const Tensor& logits,
                                               const Tensor& maximum, const Tensor& sum,
                                               const Tensor& labels,
                                               const ops::ColumnSplit& columns,
                                               const ops::CrossEntropyOptions& options,
                                               Out out) const {
  kernels::split_cross_entropy_backward(call(), grad, logits, maximum, sum, labels, columns,
                                        options, out.tensor);
}
void CudaKernels::count_correct(const Tensor& logits, const Tensor& labels, Out count) const {
  kernels::count_correct(call(), logits, labels, count.tensor);
}
void CudaKernels::normalize(const Tensor& x, const Tensor& weight, const Tensor& bias,
                            double epsilon, Out y, Out mean, Out inverse_deviation) const {
  kernels::normalize(call(), x, weight, bias, epsilon, y.tensor, mean.tensor,
                     inverse_deviation.tensor);
}
void CudaKernels::normalize_again(const Tensor& x, const Tensor& weight, const Tensor& bias,
                                  const Tensor& mean, const Tensor& inverse_deviation,
                                  Out y) const {
  kernels::normalize_again(call(), x, weight, bias, mean, inverse_deviation, y.tensor);
}
void CudaKernels::norm_backward(const Tensor& grad, const Tensor& x, const Tensor& weight,
                                const Tensor& mean, const Tensor& inverse_deviation, Out dx,
                                Out dweight, Out dbias) const {
  kernels::norm_backward(call(), grad, x, weight, mean, inverse_deviation, dx.tensor,
                         dweight.tensor, dbias.tensor);
}
void CudaKernels::embedding(const Tensor& table, const Tensor& indices, std::int64_t first,
                            Out rows) const {
  kernels::embedding(call(), table, indices, first, rows.tensor);
}
void CudaKernels::embedding_backward(const Tensor& grad, const Tensor& indices, std::int64_t first,
                                     Out table) const {
  kernels::embedding_backward(call(), grad, indices, first, table.tensor);
}
void CudaKernels::dropout(const Tensor& x, const ops::DropoutMask& mask, Out y) const {
  kernels::dropout(call(), x, mask, y.tensor);
}
void CudaKernels::attention(const Tensor& queries, const Tensor& keys_values,
                            const ops::AttentionOptions& options, Out output, Out log_sums) const {
  kernels::attention(call(), blas_, queries, keys_values, options, output.tensor, log_sums.tensor);
}
void CudaKernels::attention_backward(const Tensor& grad, const Tensor& queries,
                                     const Tensor& keys_values, const Tensor& output,
                                     const Tensor& log_sums, const ops::AttentionOptions& options,
                                     Out of_queries, Out of_keys_values) const {
  kernels::attention_backward(call(), blas_, grad, queries, keys_values, output, log_sums, options,
                              of_queries.tensor, of_keys_values.tensor);
}
void CudaKernels::merge_attention(const Tensor& block_output, const Tensor& block_log_sums,
                                  InOut output, InOut log_sums) const {
  kernels::merge_attention(call(), block_output, block_log_sums, output.tensor, log_sums.tensor);
}
void CudaKernels::sgd(const Tensor& grad, const SgdRule& rule, InOut value, InOut velocity) const {
  kernels::sgd(call(), grad, rule, value.tensor, velocity.tensor);
}
void CudaKernels::adam(const Tensor& grad, const AdamRule& rule, std::int64_t updates, InOut value,
                       InOut first, InOut second) const {
  kernels::adam(call(), grad, rule, updates, value.tensor, first.tensor, second.tensor);
}
void CudaKernels::unscale(InOut x, double factor, InOut found) const {
  kernels::unscale(call(), x.tensor, factor, found.tensor);
}

}  // namespace lockstep::gpu
