// Keeps a copy of x, not x itself. One object holds what both halves share.
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "engine/autograd/activation_checkpoint.hpp"
#include "engine/autograd/inner_walk.hpp"

namespace lockstep::autograd {

Value recompute(Tape& tape, const Value& x, Segment segment) {
  if (tape.mode() == GradMode::inference) return segment(tape, x);
  Tape first(GradMode::inference);
  const Value y = segment(first, first.constant(x.tensor));
  const std::vector<Parameter*> parameters = first.leaves();
  std::vector<Value> inputs{x};
  for (Parameter* parameter : parameters) inputs.push_back(tape.leaf(*parameter));

  struct Second {
    std::optional<Saved> copy;
    Segment segment;
    std::optional<InnerWalk> walk;
  };
  const auto shared = std::make_shared<Second>();
  shared->copy.emplace(x.tensor.clone(MemoryKind::activations));
  shared->segment = std::move(segment);
  const auto backward = [shared, parameters, &tape](const Tensor& grad) {
    auto second = std::make_unique<Tape>(GradMode::record);
    const Value input = second->input(shared->copy->get());
    const Value output = shared->segment(*second, input);
    shared->copy.reset();
    shared->walk.emplace(std::move(second), input, output, parameters);
    return shared->walk->begin(tape, grad);
  };
  const auto rest = [shared](const Tensor&) {
    std::vector<Tensor> gradients = shared->walk->end();
    shared->walk.reset();
    return gradients;
  };
  return tape.record(y.tensor, std::move(inputs), backward, rest);
}

}  // namespace lockstep::autograd
