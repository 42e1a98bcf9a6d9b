// The walk of backward(), in four steps:
//   a. mark the nodes the loss depends on, last to first;
//   b. count, for each parameter, the uses among them;
//   c. walk again: run each marked node's derivative and hand its gradients to its inputs;
//   d. at a parameter's last use, add the sum to its grad and fire its hooks.
#include "engine/autograd/tape.hpp"

#include <unordered_map>
#include <utility>

#include "engine/tensor/ops.hpp"

namespace lockstep {
namespace {

// A sum of gradients. The first is kept as a handle, since it may be shared; sums are new storage.
void accumulate(Tensor& sum, const Tensor& gradient) {
  sum = sum.defined() ? ops::add(sum, gradient) : gradient;
}

}  // namespace

struct Tape::Pass {
  struct Leaf {
    std::int64_t uses_pending = 0;
    Tensor sum;
  };
  std::vector<bool> needed;                     // by node
  std::vector<Tensor> gradients;                // by node, of its output
  std::unordered_map<Parameter*, Leaf> leaves;  // looked up, never iterated: its order is arbitrary

  static void finish(Parameter& parameter, const Tensor& sum) {
    LOCKSTEP_CHECK(sum.shape() == parameter.value.shape(), "backward: the gradient of ",
                   parameter.name, " has shape ", text_of(sum.shape()), ", its value ",
                   text_of(parameter.value.shape()), "; the last operation that used it is wrong");
    if (parameter.grad.defined()) {
      parameter.grad.reduce_(sum, ReduceOp::sum);
    } else {
      parameter.grad = sum.clone(MemoryKind::gradients);
    }
    for (const auto& hook : parameter.hooks) hook(parameter);
  }
};

Value Tape::leaf(Parameter& parameter) {
  if (mode_ == GradMode::inference) return constant(parameter.value);
  nodes_.push_back({{}, nullptr, &parameter});
  return {parameter.value, static_cast<std::int64_t>(nodes_.size()) - 1};
}

Value Tape::record(Tensor output, std::vector<Value> inputs, Backward backward) {
  std::vector<std::int64_t> nodes;
  bool depends_on_leaf = false;
  for (const Value& input : inputs) {
    LOCKSTEP_CHECK(input.node < static_cast<std::int64_t>(nodes_.size()),
                   "record: an input was made on another tape; one forward pass uses one tape");
    nodes.push_back(input.node);
    depends_on_leaf = depends_on_leaf || input.node >= 0;
  }
  if (!depends_on_leaf) return constant(std::move(output));
  LOCKSTEP_CHECK(!spent_, "record: this tape was spent by backward(); make a new one");
  nodes_.push_back({std::move(nodes), std::move(backward), nullptr});
  return {std::move(output), static_cast<std::int64_t>(nodes_.size()) - 1};
}

void Tape::backward(const Value& loss) {
  LOCKSTEP_CHECK(mode_ == GradMode::record,
                 "backward: this tape was made for inference; make it with GradMode::record");
  LOCKSTEP_CHECK(!spent_, "backward: this tape was already spent; record a new forward pass");
  LOCKSTEP_CHECK(loss.tensor.defined() && loss.tensor.numel() == 1,
                 "backward: starts from one number, the loss; reduce the output to a mean first");
  LOCKSTEP_CHECK(loss.node >= 0, "backward: the loss depends on no parameter of this tape");
  spent_ = true;

  Pass pass;
  pass.needed.resize(nodes_.size());
  pass.gradients.resize(nodes_.size());
  pass.needed[static_cast<std::size_t>(loss.node)] = true;
  for (std::size_t i = static_cast<std::size_t>(loss.node) + 1; i-- > 0;) {
    if (!pass.needed[i]) continue;
    for (const std::int64_t input : nodes_[i].inputs) {
      if (input < 0) continue;
      const auto source = static_cast<std::size_t>(input);
      pass.needed[source] = true;
      if (Parameter* parameter = nodes_[source].parameter) ++pass.leaves[parameter].uses_pending;
    }
  }

  pass.gradients[static_cast<std::size_t>(loss.node)] = full(
      loss.tensor.shape(), 1.0, loss.tensor.dtype(), loss.tensor.device(), MemoryKind::activations);
  for (std::size_t i = static_cast<std::size_t>(loss.node) + 1; i-- > 0;) {
    Node& node = nodes_[i];
    if (!pass.needed[i] || node.parameter != nullptr) continue;
    const std::vector<Tensor> gradients = node.backward(std::exchange(pass.gradients[i], {}));
    node.backward = nullptr;  // releases the activations it saved
    LOCKSTEP_CHECK(gradients.size() == node.inputs.size(), "backward: an operation with ",
                   node.inputs.size(), " inputs returned ", gradients.size(), " gradients");
    for (std::size_t k = gradients.size(); k-- > 0;) {
      if (node.inputs[k] < 0) continue;
      LOCKSTEP_CHECK(gradients[k].defined(), "backward: an operation returned no gradient for its ",
                     "input ", k, ", which depends on a parameter");
      const auto source = static_cast<std::size_t>(node.inputs[k]);
      Parameter* parameter = nodes_[source].parameter;
      if (parameter == nullptr) {
        accumulate(pass.gradients[source], gradients[k]);
        continue;
      }
      Pass::Leaf& leaf = pass.leaves[parameter];
      accumulate(leaf.sum, gradients[k]);
      if (--leaf.uses_pending == 0) Pass::finish(*parameter, std::exchange(leaf.sum, {}));
    }
  }
}

}  // namespace lockstep
