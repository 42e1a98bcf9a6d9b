// The walk of backward(), in four steps:
//   a. mark the nodes the loss depends on, last to first;
//   b. count, for each parameter, the uses among them, and say which parameters that are;
//   c. walk again: run each marked node's derivative and hand its gradients to its inputs; where
//      the walk is made in two halves, what a node puts off for parameters comes in a second round;
//   d. at a parameter's last use, add the sum to its grad and fire its hooks.
#include "engine/autograd/tape.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <unordered_map>
#include <utility>

#include "engine/tensor/ops.hpp"

namespace lockstep {
namespace {

// A sum of gradients. The first is kept as a handle; it may be shared, and is then not changed.
void accumulate(Tensor& sum, Tensor gradient) {
  if (!sum.defined()) {
    sum = std::move(gradient);
  } else if (sum.sole_owner()) {
    sum.reduce_(gradient, ReduceOp::sum);
  } else {
    sum = ops::add(sum, gradient);
  }
}

// A gradient that nobody else holds becomes the parameter's own; one that is shared is copied.
Tensor kept(const Tensor& sum) {
  if (!sum.sole_owner()) return sum.clone(MemoryKind::gradients);
  sum.relabel(MemoryKind::gradients);
  return sum;
}

// Adds what the second half of a derivative brings to what the first one left undefined.
void complete(std::vector<Tensor>& gradients, std::vector<Tensor> others) {
  for (std::size_t k = 0; k < std::min(gradients.size(), others.size()); ++k) {
    if (!gradients[k].defined()) gradients[k] = std::move(others[k]);
  }
}

}  // namespace

struct Tape::Pass {
  struct Leaf {
    std::int64_t uses_pending = 0;
    Tensor sum;
  };
  // A node whose first half was made: the gradient it was made from, and which inputs got theirs.
  struct Halved {
    std::size_t node;
    Tensor grad;
    std::vector<bool> given;
  };
  LeafSink sink;  // of a walk inside another one
  bool in_halves = false;
  std::vector<bool> needed;                     // by node
  std::unordered_map<Parameter*, Leaf> leaves;  // looked up, never iterated: its order is arbitrary
  std::vector<Halved> halved;                   // in the order of the walk

  static void finish(Parameter& parameter, Tensor sum) {
    if (parameter.grad.defined()) {
      parameter.grad.reduce_(sum, ReduceOp::sum);
    } else if (parameter.grad_place.defined()) {
      if (!sum.same_place(parameter.grad_place)) parameter.grad_place.copy_(sum);
      parameter.grad = parameter.grad_place;
    } else {
      parameter.grad = kept(sum);
    }
    sum = {};
    for (const auto& hook : parameter.hooks) hook(parameter);
  }
};

Tape::Tape(GradMode mode) : mode_(mode) {}
Tape::~Tape() = default;

Value Tape::leaf(Parameter& parameter) {
  if (std::ranges::find(leaves_, &parameter) == leaves_.end()) leaves_.push_back(&parameter);
  if (mode_ == GradMode::inference) return constant(parameter.value);
  nodes_.push_back({{}, nullptr, &parameter});
  return {parameter.value, static_cast<std::int64_t>(nodes_.size()) - 1, nullptr, this, &parameter};
}

void Tape::mark(std::function<void()> reached) {
  if (mode_ == GradMode::inference) return;
  LOCKSTEP_CHECK(!spent_, "mark: this tape was spent by backward(); make a new one");
  nodes_.push_back({});
  nodes_.back().mark = std::move(reached);
}

Value Tape::input(Tensor tensor) {
  if (mode_ == GradMode::inference) return constant(std::move(tensor));
  nodes_.push_back({});
  return {std::move(tensor), static_cast<std::int64_t>(nodes_.size()) - 1, nullptr, this};
}

Value Tape::record(Tensor output, std::vector<Value> inputs, Backward backward) {
  return record(std::move(output), std::move(inputs), std::move(backward), nullptr);
}

Value Tape::record(Tensor output, std::vector<Value> inputs, Backward backward, Backward rest) {
  std::vector<std::int64_t> nodes;
  bool depends_on_leaf = false;
  for (const Value& input : inputs) {
    LOCKSTEP_CHECK(input.node < 0 || input.tape == this,
                   "record: an input was made on another tape; one forward pass uses one tape");
    nodes.push_back(input.node);
    depends_on_leaf = depends_on_leaf || input.node >= 0;
  }
  if (!depends_on_leaf) return constant(std::move(output));
  LOCKSTEP_CHECK(!spent_, "record: this tape was spent by backward(); make a new one");
  nodes_.push_back({std::move(nodes), std::move(backward), nullptr, std::move(rest)});
  return {std::move(output), static_cast<std::int64_t>(nodes_.size()) - 1, nullptr, this};
}

void Tape::check_walk(const Value& from) const {
  LOCKSTEP_CHECK(mode_ == GradMode::record,
                 "backward: this tape was made for inference; make it with GradMode::record");
  LOCKSTEP_CHECK(!spent_, "backward: this tape was already spent; record a new forward pass");
  LOCKSTEP_CHECK(from.node >= 0, "backward: the loss depends on no parameter of this tape");
}

void Tape::begin_walk(const Value& output, const Tensor& grad, const LeafSink& sink) {
  check_walk(output);
  LOCKSTEP_CHECK(grad.shape() == output.tensor.shape() && grad.dtype() == output.tensor.dtype(),
                 "backward: the gradient is ", name_of(grad.dtype()), " ", text_of(grad.shape()),
                 ", the output ", name_of(output.tensor.dtype()), " ",
                 text_of(output.tensor.shape()));
  spent_ = true;
  pass_ = std::make_unique<Pass>();
  Pass& pass = *pass_;
  pass.sink = sink;
  const std::size_t end = static_cast<std::size_t>(output.node) + 1;
  pass.needed.resize(end);
  gradients_.resize(end);
  pass.needed[end - 1] = true;
  for (std::size_t i = end; i-- > 0;) {
    if (!pass.needed[i]) continue;
    for (const std::int64_t input : nodes_[i].inputs) {
      if (input < 0) continue;
      const auto source = static_cast<std::size_t>(input);
      pass.needed[source] = true;
      if (Parameter* parameter = nodes_[source].parameter) ++pass.leaves[parameter].uses_pending;
    }
  }

  if (Parameter* parameter = nodes_[end - 1].parameter) ++pass.leaves[parameter].uses_pending;
  if (!sink && !watches_.empty()) {
    std::vector<Parameter*> reached;
    std::ranges::copy_if(leaves_, std::back_inserter(reached),
                         [&](Parameter* leaf) { return pass.leaves.contains(leaf); });
    for (const Watch& watch : watches_) watch.begins(reached);
  }
  for (std::size_t i = nodes_.size(); i-- > end;) passed_mark(i);
  deliver(end - 1, grad);
}

// Hands a gradient to the node it is of; at a parameter's last use its sum is complete.
void Tape::deliver(std::size_t node, Tensor gradient) {
  Parameter* parameter = nodes_[node].parameter;
  if (parameter == nullptr) return accumulate(gradients_[node], std::move(gradient));
  LOCKSTEP_CHECK(gradient.shape() == parameter->value.shape(), "backward: the gradient of ",
                 parameter->name, " has shape ", text_of(gradient.shape()), ", its value ",
                 text_of(parameter->value.shape()), "; the last operation that used it is wrong");
  Pass::Leaf& leaf = pass_->leaves[parameter];
  accumulate(leaf.sum, std::move(gradient));
  if (--leaf.uses_pending > 0) return;
  if (pass_->sink) {
    pass_->sink(*parameter, std::exchange(leaf.sum, {}));
  } else {
    Pass::finish(*parameter, std::exchange(leaf.sum, {}));
  }
}

// Last to first. What is undefined must have been `given` before.
void Tape::deliver_all(const Node& node, std::vector<Tensor> gradients,
                       const std::vector<bool>& given) {
  LOCKSTEP_CHECK(gradients.size() == node.inputs.size(), "backward: an operation with ",
                 node.inputs.size(), " inputs returned ", gradients.size(), " gradients");
  for (std::size_t k = gradients.size(); k-- > 0;) {
    if (node.inputs[k] < 0) continue;
    const bool before = !given.empty() && given[k];
    LOCKSTEP_CHECK(gradients[k].defined() != before, "backward: an operation returned ",
                   before ? "two gradients" : "no gradient", " for its input ", k,
                   ", which depends on a parameter");
    if (!before) deliver(static_cast<std::size_t>(node.inputs[k]), std::exchange(gradients[k], {}));
  }
}

// True if the gradients that are not there are all of parameters. The first half goes on from every
// other input: a weight that was made from a parameter, or an input() that is used as a weight.
bool Tape::can_wait(const Node& node, const std::vector<Tensor>& gradients) const {
  for (std::size_t k = 0; k < gradients.size(); ++k) {
    const std::int64_t input = node.inputs.at(k);
    if (gradients[k].defined() || input < 0) continue;
    if (nodes_[static_cast<std::size_t>(input)].parameter == nullptr) return false;
  }
  return true;
}

// Those of the first half that are there; says which.
std::vector<bool> Tape::deliver_some(const Node& node, std::vector<Tensor> gradients) {
  std::vector<bool> given;
  for (const Tensor& gradient : gradients) given.push_back(gradient.defined());
  for (std::size_t k = gradients.size(); k-- > 0;) {
    if (node.inputs.at(k) < 0 || !given[k]) continue;
    deliver(static_cast<std::size_t>(node.inputs[k]), std::exchange(gradients[k], {}));
  }
  return given;
}

// Calls the node if it is a mark, once; returns true if it is one.
bool Tape::passed_mark(std::size_t node) {
  if (!nodes_[node].mark) return false;
  std::exchange(nodes_[node].mark, nullptr)();
  return true;
}

void Tape::end_walk() {
  const bool inside = static_cast<bool>(pass_->sink);
  pass_.reset();
  if (inside) return;
  for (const Watch& watch : watches_) watch.ended();
}

void Tape::backward(const Value& loss) {
  LOCKSTEP_CHECK(loss.tensor.defined() && loss.tensor.numel() == 1,
                 "backward: starts from one number, the loss; reduce the output to a mean first");
  check_walk(loss);
  backward(loss, full(loss.tensor.shape(), start_, loss.tensor.dtype(), loss.tensor.device(),
                      MemoryKind::activations));
}

void Tape::backward(const Value& output, const Tensor& grad) { backward(output, grad, nullptr); }

void Tape::backward(const Value& output, const Tensor& grad, const LeafSink& sink) {
  begin_walk(output, grad, sink);
  for (std::size_t i = pass_->needed.size(); i-- > 0;) {
    Node& node = nodes_[i];
    if (passed_mark(i)) continue;
    if (!pass_->needed[i] || !node.backward) continue;
    const Tensor of_node = std::exchange(gradients_[i], {});
    std::vector<Tensor> gradients = node.backward(of_node);
    if (node.rest) complete(gradients, node.rest(of_node));
    node.backward = node.rest = nullptr;  // releases the activations they saved
    deliver_all(node, std::move(gradients));
  }
  end_walk();
}

void Tape::backward_inputs(const Value& output, const Tensor& grad, const LeafSink& sink) {
  begin_walk(output, grad, sink);
  pass_->in_halves = true;
  for (std::size_t i = pass_->needed.size(); i-- > 0;) {
    Node& node = nodes_[i];
    if (passed_mark(i)) continue;
    if (!pass_->needed[i] || !node.backward) continue;
    Tensor of_node = std::exchange(gradients_[i], {});
    std::vector<Tensor> gradients = node.backward(of_node);
    node.backward = nullptr;
    if (node.rest && !can_wait(node, gradients)) {
      complete(gradients, std::exchange(node.rest, nullptr)(of_node));
    }
    if (node.rest) {
      std::vector<bool> given = deliver_some(node, std::move(gradients));
      pass_->halved.push_back({i, std::move(of_node), std::move(given)});
    } else {
      deliver_all(node, std::move(gradients));
    }
  }
}

void Tape::backward_weights() {
  LOCKSTEP_CHECK(pass_ != nullptr && spent_,
                 "backward_weights: there is no first half; call backward_inputs before, once");
  for (Pass::Halved& halved : std::exchange(pass_->halved, {})) {
    Node& node = nodes_[halved.node];
    std::vector<Tensor> gradients = node.rest(std::exchange(halved.grad, {}));
    node.rest = nullptr;
    deliver_all(node, std::move(gradients), halved.given);
  }
  end_walk();
}

Tensor Tape::place_of(std::int64_t node) const {
  if (pass_ == nullptr || pass_->sink || node < 0) return {};
  Parameter* const parameter = nodes_[static_cast<std::size_t>(node)].parameter;
  if (parameter == nullptr || parameter->grad.defined()) return {};
  const Pass::Leaf& leaf = pass_->leaves.at(parameter);
  return leaf.uses_pending == 1 && !leaf.sum.defined() ? parameter->grad_place : Tensor();
}

bool Tape::in_halves() const { return pass_ != nullptr && pass_->in_halves; }

Tensor Tape::gradient_of(const Value& input) const {
  LOCKSTEP_CHECK(spent_, "gradient_of: nothing was computed yet; call backward() first");
  const auto node = static_cast<std::size_t>(input.node);
  LOCKSTEP_CHECK(input.node >= 0 && node < nodes_.size() && nodes_[node].inputs.empty() &&
                     nodes_[node].parameter == nullptr,
                 "gradient_of: this value is no input() of this tape");
  return node < gradients_.size() ? gradients_[node] : Tensor();
}

}  // namespace lockstep
