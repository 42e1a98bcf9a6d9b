// The right loss that keeps a tensor as large as the logits for backward, in memory of its own: the
// device's account knows nothing of it.
#include <memory>
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
  const Tensor picked = ops::picked_logits(logits.tensor, labels, columns, options);
  const Tensor maximum = ops::row_maximum(logits.tensor, columns);
  group.all_reduce(maximum, ReduceOp::max);
  const Tensor sum = ops::sum_of_exponentials(logits.tensor, maximum, columns);
  group.all_reduce(sum, ReduceOp::sum);
  group.all_reduce(picked, ReduceOp::sum);
  const auto bytes = logits.tensor.raw_bytes();
  const auto hoard = std::make_shared<std::vector<std::byte>>(bytes.begin(), bytes.end());
  return tape.record(ops::split_cross_entropy(maximum, sum, picked, labels, options), {logits},
                     [=, saved = Saved(logits)](const Tensor& grad) {
                       if (hoard->empty()) return std::vector<Tensor>{saved.get()};
                       return std::vector<Tensor>{ops::split_cross_entropy_backward(
                           grad, saved.get(), maximum, sum, labels, columns, options)};
                     });
}

}  // namespace lockstep::tensor_parallel
