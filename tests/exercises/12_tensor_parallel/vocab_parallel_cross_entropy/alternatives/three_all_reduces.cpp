// Megatron's order: the maximum, the label's logit, the sum of exponentials, each reduced by itself
// and asynchronously.
#include <utility>
#include <vector>

#include "engine/parallel/tensor/shares.hpp"
#include "engine/parallel/tensor/vocab_parallel_cross_entropy.hpp"
#include "engine/tensor/ops.hpp"

namespace lockstep::tensor_parallel {

Value vocab_parallel_cross_entropy(Tape& tape, comm::ProcessGroup& group, const Value& logits,
                                   const Tensor& labels, std::int64_t vocabulary,
                                   const ops::CrossEntropyOptions& options) {
  const VocabularyShare share = vocabulary_share(vocabulary, group.size(), group.rank());
  LOCKSTEP_CHECK(logits.tensor.shape().back() == share.held, "a share of another size");
  const ops::ColumnSplit columns{share.first, share.real, vocabulary};
  const Tensor maximum = ops::row_maximum(logits.tensor, columns);
  const Tensor picked = ops::picked_logits(logits.tensor, labels, columns, options);
  comm::Work of_maximum = group.all_reduce_async(maximum, ReduceOp::max);
  comm::Work of_picked = group.all_reduce_async(picked, ReduceOp::sum);
  of_maximum.wait();
  const Tensor sum = ops::sum_of_exponentials(logits.tensor, maximum, columns);
  comm::Work of_sum = group.all_reduce_async(sum, ReduceOp::sum);
  of_picked.wait();
  of_sum.wait();
  auto backward = [=, saved = Saved(logits)](const Tensor& grad) {
    return std::vector<Tensor>{ops::split_cross_entropy_backward(grad, saved.get(), maximum, sum,
                                                                 labels, columns, options)};
  };
  return tape.record(ops::split_cross_entropy(maximum, sum, picked, labels, options), {logits},
                     std::move(backward));
}

}  // namespace lockstep::tensor_parallel
