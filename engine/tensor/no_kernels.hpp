// The kernels of a device whose tensors have no elements: every one of them does nothing. Where an
// element would be read, to_host() refuses before.
#pragma once

#include "engine/tensor/kernels.hpp"

namespace lockstep {

class NoKernels : public Kernels {
 public:
  std::string_view name() const override { return "no"; }
  void copy(const Tensor&, Out) const override {}
  void copy_runs(const Tensor&, const Runs&, InOut) const override {}
  void exchange(const Tensor&, const Exchange&, Out) const override {}
  void reduce(const Tensor&, ReduceOp, InOut) const override {}
  void fill(double, Out) const override {}
  void convert(const Tensor&, Out) const override {}
  void checksum(const Tensor&, Out) const override {}
  void upload(std::span<const std::byte>, Out) const override {}
  void download(const Tensor&, std::span<std::byte>) const override {}
  void check_indices(const Tensor&, const IndexRule&) const override {}
  void scale(InOut, double) const override {}
  void scale_by(InOut, const Tensor&) const override {}
  void scaled(const Tensor&, double, Out) const override {}
  void activate(const Tensor&, ops::Activation, Out) const override {}
  void activate_backward(const Tensor&, const Tensor&, ops::Activation, Out) const override {}
  void combine(Binary, const Tensor&, const Tensor&, Out) const override {}
  void sum_to(const Tensor&, Out) const override {}
  void add_squares(const Tensor&, InOut) const override {}
  void clip_factor(const Tensor&, double, Out, Out) const override {}
  void matmul(const Tensor&, ops::Transpose, const Tensor&, ops::Transpose, Out) const override {}
  void add_row(const Tensor&, InOut) const override {}
  void sum_rows(const Tensor&, Out) const override {}
  void softmax(const Tensor&, Out) const override {}
  void softmax_backward(const Tensor&, const Tensor&, Out) const override {}
  void cross_entropy(const Tensor&, const Tensor&, const ops::CrossEntropyOptions&, Out,
                     Out) const override {}
  void cross_entropy_backward(const Tensor&, const Tensor&, const Tensor&,
                              const ops::CrossEntropyOptions&, Out) const override {}
  void row_maximum(const Tensor&, const ops::ColumnSplit&, Out) const override {}
  void sum_of_exponentials(const Tensor&, const Tensor&, const ops::ColumnSplit&,
                           Out) const override {}
  void picked_logits(const Tensor&, const Tensor&, const ops::ColumnSplit&,
                     const ops::CrossEntropyOptions&, Out) const override {}
  void split_cross_entropy(const Tensor&, const Tensor&, const Tensor&, const Tensor&,
                           const ops::CrossEntropyOptions&, Out) const override {}
  void split_cross_entropy_backward(const Tensor&, const Tensor&, const Tensor&, const Tensor&,
                                    const Tensor&, const ops::ColumnSplit&,
                                    const ops::CrossEntropyOptions&, Out) const override {}
  void count_correct(const Tensor&, const Tensor&, Out) const override {}
  void normalize(const Tensor&, const Tensor&, const Tensor&, double, Out, Out,
                 Out) const override {}
  void normalize_again(const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&,
                       Out) const override {}
  void norm_backward(const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&, Out,
                     Out, Out) const override {}
  void embedding(const Tensor&, const Tensor&, std::int64_t, Out) const override {}
  void embedding_backward(const Tensor&, const Tensor&, std::int64_t, Out) const override {}
  void dropout(const Tensor&, const ops::DropoutMask&, Out) const override {}
  void attention(const Tensor&, const Tensor&, const ops::AttentionOptions&, Out,
                 Out) const override {}
  void attention_backward(const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&,
                          const ops::AttentionOptions&, Out, Out) const override {}
  void merge_attention(const Tensor&, const Tensor&, InOut, InOut) const override {}
  void sgd(const Tensor&, const SgdRule&, InOut, InOut) const override {}
  void adam(const Tensor&, const AdamRule&, std::int64_t, InOut, InOut, InOut) const override {}
  void unscale(InOut, double, InOut) const override {}
};

const Kernels& no_kernels();

}  // namespace lockstep
