// Task: compute the loss, and its derivative, of logits whose columns are spread over a
// tensor-parallel group, without ever having all of them. The contract is in
// engine/parallel/tensor/vocab_parallel_cross_entropy.hpp.
#include "engine/parallel/tensor/vocab_parallel_cross_entropy.hpp"

#include <vector>

#include "engine/base/error.hpp"
#include "engine/parallel/tensor/shares.hpp"
#include "engine/tensor/ops.hpp"

namespace lockstep::tensor_parallel {

Value vocab_parallel_cross_entropy(Tape& tape, comm::ProcessGroup& group, const Value& logits,
                                   const Tensor& labels, std::int64_t vocabulary,
                                   const ops::CrossEntropyOptions& options) {
  const VocabularyShare share = vocabulary_share(vocabulary, group.size(), group.rank());
  LOCKSTEP_CHECK(!logits.tensor.shape().empty() && logits.tensor.shape().back() == share.held,
                 "vocab_parallel_cross_entropy: logits ", text_of(logits.tensor.shape()),
                 " on rank ", group.rank(), ", expected ", share.held, " columns: ", vocabulary,
                 " tokens on ", group.size(), " ranks, the last padded");
  // >>> your code
  const ops::ColumnSplit columns{share.first, share.real, vocabulary};
  const Tensor& z = logits.tensor;
  const Tensor picked = ops::picked_logits(z, labels, columns, options);  // refuses wrong labels
  Tensor maximum = ops::row_maximum(z, columns);
  group.all_reduce(maximum, ReduceOp::max);
  // Both sums in one all-reduce, which has the latency of one.
  const Tensor sums = empty({2, picked.numel()}, picked.dtype(), picked.device());
  sums.narrow(0, 1).copy_(ops::sum_of_exponentials(z, maximum, columns));
  sums.narrow(1, 1).copy_(picked);
  group.all_reduce(sums, ReduceOp::sum);
  const Tensor sum = sums.narrow(0, 1).view(maximum.shape());
  const Tensor at_labels = sums.narrow(1, 1).view(maximum.shape());
  Tensor loss = ops::split_cross_entropy(maximum, sum, at_labels, labels, options);
  return tape.record(
      std::move(loss), {logits},
      [saved = Saved(logits), maximum, sum, labels, columns, options](const Tensor& grad) {
        return std::vector<Tensor>{ops::split_cross_entropy_backward(
            grad, saved.get(), maximum, sum, labels, columns, options)};
      });
  // <<< your code
}

}  // namespace lockstep::tensor_parallel
