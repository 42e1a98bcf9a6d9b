// The CPU's kernels, one function each, in the files that are named after the operations. Those
// that compute do so in float32 or float64; kernel_table.cpp brings halves there and back.
#pragma once

#include <functional>
#include <memory>

#include "engine/tensor/cpu/products.hpp"
#include "engine/tensor/kernels.hpp"

namespace lockstep::kernels {

// Attention in place of the table's, for a device that does not compute it itself.
using AttentionKernel =
    std::function<void(const Tensor& queries, const Tensor& keys_values,
                       const ops::AttentionOptions& options, Out output, Out log_sums)>;
std::unique_ptr<const Kernels> make_kernel_table(const Products& products,
                                                 AttentionKernel attention = {});

void copy(const Tensor& from, const Tensor& to);
void copy_runs(const Tensor& from, const Runs& runs, const Tensor& to);
void exchange(const Tensor& from, const Exchange& axes, const Tensor& to);
void reduce(const Tensor& operand, ReduceOp op, const Tensor& into);
void fill(double value, const Tensor& to);
void convert(const Tensor& from, const Tensor& to);
void checksum(const Tensor& x, const Tensor& sum);
void upload(std::span<const std::byte> from, const Tensor& to);
void download(const Tensor& from, std::span<std::byte> to);
void check_indices(const Tensor& indices, const IndexRule& rule);
void scale(const Tensor& x, double factor);
void scale_by(const Tensor& x, const Tensor& factor);
void scaled(Isa isa, const Tensor& x, double factor, const Tensor& y);
void activate(Isa isa, const Tensor& x, ops::Activation activation, const Tensor& y);
void activate_backward(Isa isa, const Tensor& grad, const Tensor& x, ops::Activation activation,
                       const Tensor& out);
void combine(Isa isa, Binary operation, const Tensor& a, const Tensor& b, const Tensor& c);
void sum_to(Isa isa, const Tensor& x, const Tensor& total);
void add_squares(Isa isa, const Tensor& x, const Tensor& total);
void clip_factor(const Tensor& squares, double max_norm, const Tensor& norm, const Tensor& factor);
void matmul(const Products& products, const Tensor& a, ops::Transpose transpose_a, const Tensor& b,
            ops::Transpose transpose_b, const Tensor& c);
void add_row(Isa isa, const Tensor& row, const Tensor& x);
void sum_rows(Isa isa, const Tensor& x, const Tensor& sum);
void softmax(Isa isa, const Tensor& x, const Tensor& y);
void softmax_backward(Isa isa, const Tensor& grad, const Tensor& y, const Tensor& out);
void cross_entropy(Isa isa, const Tensor& logits, const Tensor& labels,
                   const ops::CrossEntropyOptions& options, const Tensor& probabilities,
                   const Tensor& loss);
void cross_entropy_backward(Isa isa, const Tensor& grad, const Tensor& probabilities,
                            const Tensor& labels, const ops::CrossEntropyOptions& options,
                            const Tensor& out);
void row_maximum(Isa isa, const Tensor& logits, const ops::ColumnSplit& columns,
                 const Tensor& maximum);
void sum_of_exponentials(Isa isa, const Tensor& logits, const Tensor& maximum,
                         const ops::ColumnSplit& columns, const Tensor& sum);
void picked_logits(const Tensor& logits, const Tensor& labels, const ops::ColumnSplit& columns,
                   const ops::CrossEntropyOptions& options, const Tensor& picked);
void split_cross_entropy(const Tensor& maximum, const Tensor& sum, const Tensor& picked,
                         const Tensor& labels, const ops::CrossEntropyOptions& options,
                         const Tensor& loss);
void split_cross_entropy_backward(Isa isa, const Tensor& grad, const Tensor& logits,
                                  const Tensor& maximum, const Tensor& sum, const Tensor& labels,
                                  const ops::ColumnSplit& columns,
                                  const ops::CrossEntropyOptions& options, const Tensor& out);
void count_correct(const Tensor& logits, const Tensor& labels, const Tensor& count);
void normalize(Isa isa, const Tensor& x, const Tensor& weight, const Tensor& bias, double epsilon,
               const Tensor& y, const Tensor& mean, const Tensor& inverse_deviation);
void normalize_again(Isa isa, const Tensor& x, const Tensor& weight, const Tensor& bias,
                     const Tensor& mean, const Tensor& inverse_deviation, const Tensor& y);
void norm_backward(Isa isa, const Tensor& grad, const Tensor& x, const Tensor& weight,
                   const Tensor& mean, const Tensor& inverse_deviation, const Tensor& dx,
                   const Tensor& dweight, const Tensor& dbias);
void embedding(const Tensor& table, const Tensor& indices, std::int64_t first, const Tensor& rows);
void embedding_backward(const Tensor& grad, const Tensor& indices, std::int64_t first,
                        const Tensor& table);
void dropout(const Tensor& x, const ops::DropoutMask& mask, const Tensor& y);
void attention(const Products& products, const Tensor& queries, const Tensor& keys_values,
               const ops::AttentionOptions& options, const Tensor& output, const Tensor& log_sums);
void attention_backward(const Products& products, const Tensor& grad, const Tensor& queries,
                        const Tensor& keys_values, const Tensor& output, const Tensor& log_sums,
                        const ops::AttentionOptions& options, const Tensor& of_queries,
                        const Tensor& of_keys_values);
void merge_attention(const Tensor& block_output, const Tensor& block_log_sums, const Tensor& output,
                     const Tensor& log_sums);
void sgd(Isa isa, const Tensor& grad, const SgdRule& rule, const Tensor& value,
         const Tensor& velocity);
void adam(Isa isa, const Tensor& grad, const AdamRule& rule, std::int64_t updates,
          const Tensor& value, const Tensor& first, const Tensor& second);
void unscale(const Tensor& x, double factor, const Tensor& found);

}  // namespace lockstep::kernels
