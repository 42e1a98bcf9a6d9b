// The sum as it stands where a sequence is split: every rank adds up its part of y and its part of
// the bias, and the parts are gathered. What does not divide is padded.
#include <vector>

#include "engine/autograd/operations.hpp"
#include "engine/base/error.hpp"
#include "engine/parallel/tensor/row_parallel_linear.hpp"
#include "engine/tensor/ops.hpp"

namespace lockstep::tensor_parallel {

Value row_parallel_linear(Tape& tape, comm::ProcessGroup& group, const Value& x,
                          const Value& weight, const std::optional<Value>& bias) {
  LOCKSTEP_CHECK(!bias || bias->tensor.numel() == weight.tensor.size(0), "a bias of ",
                 bias->tensor.numel(), " elements for ", weight.tensor.size(0), " outputs");
  const Value partial = autograd::linear(tape, x, weight);
  const Tensor& term = partial.tensor;
  const std::int64_t ranks = group.size(), part = (term.numel() + ranks - 1) / ranks;
  const Tensor all = zeros({part * ranks}, term.dtype(), term.device());
  all.narrow(0, term.numel()).copy_(term.view({-1}));
  const Tensor mine = all.empty_like(part);
  group.reduce_scatter(all, mine, ReduceOp::sum);
  group.all_gather(mine, all);
  const Tensor y = empty(term.shape(), term.dtype(), term.device());
  y.view({-1}).copy_(all.narrow(0, term.numel()));
  std::vector<Value> inputs{partial};
  if (bias) {
    ops::add_row_(y, bias->tensor);
    inputs.push_back(*bias);
  }
  const bool biased = bias.has_value();
  return tape.record(y, std::move(inputs), [biased](const Tensor& grad) {
    std::vector<Tensor> gradients{grad};
    if (biased) gradients.push_back(ops::sum_rows(grad));
    return gradients;
  });
}

}  // namespace lockstep::tensor_parallel
