// The kernels of a CUDA device: every function of engine/tensor/kernels.hpp, on one stream. A call
// returns when its work is queued; kernels.hpp says when the host sees what came of it.
//
// Where the CPU states an order of summation or of roundings (checksum, sums of squares, rows in
// order, optimizer steps, dropout masks), the same bits come out here. Everything else is computed
// in an order of its own, which depends on shapes only: a second run gives the same bits.
#pragma once

#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>
#include <span>

#include "engine/gpu/cuda_check.hpp"
#include "engine/gpu/fault_box.hpp"
#include "engine/gpu/scratch.hpp"
#include "engine/tensor/kernels.hpp"

namespace lockstep::gpu {

struct Call;  // kernels/call.hpp

// Bytes between the host and the device, in the order of the kernels' stream.
class Staging {
 public:
  virtual ~Staging() = default;
  // The host's bytes may change after the call.
  virtual void upload(std::span<const std::byte> from, std::byte* to) = 0;
  // The bytes are there when the device has settled.
  virtual void download(const std::byte* from, std::span<std::byte> to) = 0;
};

//   stream   on which all work is queued; the handle is bound to it, and its products are set to
//            full float32 (no TF32, halves summed in float32)
//   Thread   one at a time
class CudaKernels final : public Kernels {
 public:
  // All that is given must outlive the kernels.
  CudaKernels(cudaStream_t stream, cublasHandle_t blas, FaultBox& faults, Scratch& scratch,
              Staging& staging);

  std::string_view name() const override { return on_paper() ? "paper" : "cuBLAS"; }

  void copy(const Tensor& from, Out to) const override;
  void copy_runs(const Tensor& from, const Runs& runs, InOut to) const override;
  void exchange(const Tensor& from, const Exchange& axes, Out to) const override;
  void reduce(const Tensor& operand, ReduceOp op, InOut into) const override;
  void fill(double value, Out to) const override;
  void convert(const Tensor& from, Out to) const override;
  void checksum(const Tensor& x, Out sum) const override;
  void upload(std::span<const std::byte> from, Out to) const override;
  void download(const Tensor& from, std::span<std::byte> to) const override;
  void check_indices(const Tensor& indices, const IndexRule& rule) const override;
  void scale(InOut x, double factor) const override;
  void scale_by(InOut x, const Tensor& factor) const override;
  void scaled(const Tensor& x, double factor, Out y) const override;
  void activate(const Tensor& x, ops::Activation activation, Out y) const override;
  void activate_backward(const Tensor& grad, const Tensor& x, ops::Activation activation,
                         Out out) const override;
  void combine(Binary operation, const Tensor& a, const Tensor& b, Out c) const override;
  void sum_to(const Tensor& x, Out total) const override;
  void add_squares(const Tensor& x, InOut total) const override;
  void clip_factor(const Tensor& squares, double max_norm, Out norm, Out factor) const override;
  void matmul(const Tensor& a, ops::Transpose transpose_a, const Tensor& b,
              ops::Transpose transpose_b, Out c) const override;
  void add_row(const Tensor& row, InOut x) const override;
  void sum_rows(const Tensor& x, Out sum) const override;
  void softmax(const Tensor& x, Out y) const override;
  void softmax_backward(const Tensor& grad, const Tensor& y, Out out) const override;
  void cross_entropy(const Tensor& logits, const Tensor& labels,
                     const ops::CrossEntropyOptions& options, Out probabilities,
                     Out loss) const override;
  void cross_entropy_backward(const Tensor& grad, const Tensor& probabilities, const Tensor& labels,
                              const ops::CrossEntropyOptions& options, Out out) const override;
  void row_maximum(const Tensor& logits, const ops::ColumnSplit& columns,
                   Out maximum) const override;
  void sum_of_exponentials(const Tensor& logits, const Tensor& maximum,
                           const ops::ColumnSplit& columns, Out sum) const override;
  void picked_logits(const Tensor& logits, const Tensor& labels, const ops::ColumnSplit& columns,
                     const ops::CrossEntropyOptions& options, Out picked) const override;
  void split_cross_entropy(const Tensor& maximum, const Tensor& sum, const Tensor& picked,
                           const Tensor& labels, const ops::CrossEntropyOptions& options,
                           Out loss) const override;
  void split_cross_entropy_backward(const Tensor& grad, const Tensor& logits, const Tensor& maximum,
                                    const Tensor& sum, const Tensor& labels,
                                    const ops::ColumnSplit& columns,
                                    const ops::CrossEntropyOptions& options,
                                    Out out) const override;
  void count_correct(const Tensor& logits, const Tensor& labels, Out count) const override;
  void normalize(const Tensor& x, const Tensor& weight, const Tensor& bias, double epsilon, Out y,
                 Out mean, Out inverse_deviation) const override;
  void normalize_again(const Tensor& x, const Tensor& weight, const Tensor& bias,
                       const Tensor& mean, const Tensor& inverse_deviation, Out y) const override;
  void norm_backward(const Tensor& grad, const Tensor& x, const Tensor& weight, const Tensor& mean,
                     const Tensor& inverse_deviation, Out dx, Out dweight,
                     Out dbias) const override;
  void embedding(const Tensor& table, const Tensor& indices, std::int64_t first,
                 Out rows) const override;
  void embedding_backward(const Tensor& grad, const Tensor& indices, std::int64_t first,
                          Out table) const override;
  void dropout(const Tensor& x, const ops::DropoutMask& mask, Out y) const override;
  void attention(const Tensor& queries, const Tensor& keys_values,
                 const ops::AttentionOptions& options, Out output, Out log_sums) const override;
  void attention_backward(const Tensor& grad, const Tensor& queries, const Tensor& keys_values,
                          const Tensor& output, const Tensor& log_sums,
                          const ops::AttentionOptions& options, Out of_queries,
                          Out of_keys_values) const override;
  void merge_attention(const Tensor& block_output, const Tensor& block_log_sums, InOut output,
                       InOut log_sums) const override;
  void sgd(const Tensor& grad, const SgdRule& rule, InOut value, InOut velocity) const override;
  void adam(const Tensor& grad, const AdamRule& rule, std::int64_t updates, InOut value,
            InOut first, InOut second) const override;
  void unscale(InOut x, double factor, InOut found) const override;

 private:
  Call call() const;

  cudaStream_t stream_;
  cublasHandle_t blas_;
  FaultBox& faults_;
  Scratch& scratch_;
  Staging& staging_;
};

}  // namespace lockstep::gpu
