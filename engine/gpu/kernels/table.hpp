// The CUDA kernels, one function each, in the files that are named after the operations: each
// launches on the call's stream and returns. cuda_kernels.cpp makes the device's table of them.
#pragma once

#include <cublas_v2.h>

#include "engine/gpu/kernels/call.hpp"

namespace lockstep::gpu::kernels {

void copy(const Call& call, const Tensor& from, const Tensor& to);
void copy_runs(const Call& call, const Tensor& from, const Runs& runs, const Tensor& to);
void exchange(const Call& call, const Tensor& from, const Exchange& axes, const Tensor& to);
void reduce(const Call& call, const Tensor& operand, ReduceOp op, const Tensor& into);
void fill(const Call& call, double value, const Tensor& to);
void convert(const Call& call, const Tensor& from, const Tensor& to);
void checksum(const Call& call, const Tensor& x, const Tensor& sum);
void check_indices(const Call& call, const Tensor& indices, const IndexRule& rule);
void scale(const Call& call, const Tensor& x, double factor);
void scale_by(const Call& call, const Tensor& x, const Tensor& factor);
void scaled(const Call& call, const Tensor& x, double factor, const Tensor& y);
void activate(const Call& call, const Tensor& x, ops::Activation activation, const Tensor& y);
void activate_backward(const Call& call, const Tensor& grad, const Tensor& x,
                       ops::Activation activation, const Tensor& out);
void combine(const Call& call, Binary operation, const Tensor& a, const Tensor& b, const Tensor& c);
void sum_to(const Call& call, const Tensor& x, const Tensor& total);
void add_squares(const Call& call, const Tensor& x, const Tensor& total);
void clip_factor(const Call& call, const Tensor& squares, double max_norm, const Tensor& norm,
                 const Tensor& factor);
void matmul(const Call& call, cublasHandle_t blas, const Tensor& a, ops::Transpose transpose_a,
            const Tensor& b, ops::Transpose transpose_b, const Tensor& c);
void add_row(const Call& call, const Tensor& row, const Tensor& x);
void sum_rows(const Call& call, const Tensor& x, const Tensor& sum);
void softmax(const Call& call, const Tensor& x, const Tensor& y);
void softmax_backward(const Call& call, const Tensor& grad, const Tensor& y, const Tensor& out);
void cross_entropy(const Call& call, const Tensor& logits, const Tensor& labels,
                   const ops::CrossEntropyOptions& options, const Tensor& probabilities,
                   const Tensor& loss);
void cross_entropy_backward(const Call& call, const Tensor& grad, const Tensor& probabilities,
                            const Tensor& labels, const ops::CrossEntropyOptions& options,
                            const Tensor& out);
void row_maximum(const Call& call, const Tensor& logits, const ops::ColumnSplit& columns,
                 const Tensor& maximum);
void sum_of_exponentials(const Call& call, const Tensor& logits, const Tensor& maximum,
                         const ops::ColumnSplit& columns, const Tensor& sum);
void picked_logits(const Call& call, const Tensor& logits, const Tensor& labels,
                   const ops::ColumnSplit& columns, const ops::CrossEntropyOptions& options,
                   const Tensor& picked);
void split_cross_entropy(const Call& call, const Tensor& maximum, const Tensor& sum,
                         const Tensor& picked, const Tensor& labels,
                         const ops::CrossEntropyOptions& options, const Tensor& loss);
void split_cross_entropy_backward(const Call& call, const Tensor& grad, const Tensor& logits,
                                  const Tensor& maximum, const Tensor& sum, const Tensor& labels,
                                  const ops::ColumnSplit& columns,
                                  const ops::CrossEntropyOptions& options, const Tensor& out);
void count_correct(const Call& call, const Tensor& logits, const Tensor& labels,
                   const Tensor& count);
void normalize(const Call& call, const Tensor& x, const Tensor& weight, const Tensor& bias,
               double epsilon, const Tensor& y, const Tensor& mean,
               const Tensor& inverse_deviation);
void normalize_again(const Call& call, const Tensor& x, const Tensor& weight, const Tensor& bias,
                     const Tensor& mean, const Tensor& inverse_deviation, const Tensor& y);
void norm_backward(const Call& call, const Tensor& grad, const Tensor& x, const Tensor& weight,
                   const Tensor& mean, const Tensor& inverse_deviation, const Tensor& dx,
                   const Tensor& dweight, const Tensor& dbias);
void embedding(const Call& call, const Tensor& table, const Tensor& indices, std::int64_t first,
               const Tensor& rows);
void embedding_backward(const Call& call, const Tensor& grad, const Tensor& indices,
                        std::int64_t first, const Tensor& table);
void dropout(const Call& call, const Tensor& x, const ops::DropoutMask& mask, const Tensor& y);
void attention(const Call& call, cublasHandle_t blas, const Tensor& queries,
               const Tensor& keys_values, const ops::AttentionOptions& options,
               const Tensor& output, const Tensor& log_sums);
void attention_backward(const Call& call, cublasHandle_t blas, const Tensor& grad,
                        const Tensor& queries, const Tensor& keys_values, const Tensor& output,
                        const Tensor& log_sums, const ops::AttentionOptions& options,
                        const Tensor& of_queries, const Tensor& of_keys_values);
void merge_attention(const Call& call, const Tensor& block_output, const Tensor& block_log_sums,
                     const Tensor& output, const Tensor& log_sums);
void sgd(const Call& call, const Tensor& grad, const SgdRule& rule, const Tensor& value,
         const Tensor& velocity);
void adam(const Call& call, const Tensor& grad, const AdamRule& rule, std::int64_t updates,
          const Tensor& value, const Tensor& first, const Tensor& second);
void unscale(const Call& call, const Tensor& x, double factor, const Tensor& found);

// The functions to which those above hand on.

// As many row-major matrices as a batch has: `step` elements from row to row, `apart` from matrix
// to matrix, so that a matrix may lie between the rows of others.
struct Matrices {
  void* first;
  DType dtype;
  std::int64_t step, apart;
};
struct BatchSizes {
  std::int64_t batch, m, n, k;  // each at least 1
};
// c [m, n] = op(a) [m, k] · op(b) [k, n], of each in the batch. a and b have one dtype; c has it
// too, or float32 where they are halves.
void batched_matmul(cublasHandle_t blas, const BatchSizes& sizes, const Matrices& a,
                    ops::Transpose transpose_a, const Matrices& b, ops::Transpose transpose_b,
                    const Matrices& c);

// attention_heads.cuh says which heads come here. dots: Σ grad·out of each query, as log_sums.
void attention_by_products(const Call& call, cublasHandle_t blas, const Tensor& queries,
                           const Tensor& keys_values, const ops::AttentionOptions& options,
                           const Tensor& output, const Tensor& log_sums);
void attention_by_products_backward(const Call& call, cublasHandle_t blas, const Tensor& grad,
                                    const Tensor& queries, const Tensor& keys_values,
                                    const Tensor& log_sums, const std::byte* dots,
                                    const ops::AttentionOptions& options, const Tensor& of_queries,
                                    const Tensor& of_keys_values);

}  // namespace lockstep::gpu::kernels
