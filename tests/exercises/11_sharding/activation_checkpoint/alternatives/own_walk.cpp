// Without the lab's InnerWalk: both halves by hand, with the sums by parameter.
#include <memory>
#include <unordered_map>
#include <vector>

#include "engine/autograd/activation_checkpoint.hpp"
#include "engine/tensor/ops.hpp"

namespace lockstep::autograd {
namespace {

struct Call {
  Tensor x;
  Segment segment;
  std::vector<Parameter*> parameters;
  std::unique_ptr<Tape> tape;
  std::unordered_map<Parameter*, Tensor> sums;
  std::vector<bool> gone;  // handed out in the first half

  std::vector<Tensor> hand_out(bool fill) {
    std::vector<Tensor> out;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      Tensor& sum = sums[parameters[i]];
      if (!sum.defined() && fill && !gone[i]) {
        const Tensor& value = parameters[i]->value;
        sum = zeros(value.shape(), value.dtype(), value.device(), MemoryKind::activations);
      }
      if (sum.defined()) gone[i] = true;
      out.push_back(std::move(sum));
      sum = {};
    }
    return out;
  }
};

}  // namespace

Value recompute(Tape& tape, const Value& x, Segment segment) {
  const bool trains = tape.mode() == GradMode::record;
  if (!trains) return segment(tape, x);
  auto call = std::make_shared<Call>();
  call->x = x.tensor;
  call->segment = segment;
  Tensor value;
  {
    Tape quiet(GradMode::inference);
    value = segment(quiet, quiet.constant(x.tensor)).tensor;
    call->parameters = quiet.leaves();
    call->gone.assign(call->parameters.size(), false);
  }
  std::vector<Value> inputs{x};
  for (Parameter* one : call->parameters) inputs.push_back(tape.leaf(*one));
  const auto first_half = [call, &tape](const Tensor& grad) {
    call->tape = std::make_unique<Tape>(GradMode::record);
    const Value in = call->tape->input(call->x);
    const Value out = call->segment(*call->tape, in);
    call->x = {};
    const auto sink = [raw = call.get()](Parameter& one, const Tensor& sum) {
      raw->sums[&one] = sum;
    };
    const bool halves = tape.in_halves();
    if (halves) {
      call->tape->backward_inputs(out, grad, sink);
    } else {
      call->tape->backward(out, grad, sink);
    }
    std::vector<Tensor> all = call->hand_out(!halves);
    all.insert(all.begin(), call->tape->gradient_of(in));
    if (!halves) call->tape.reset();
    return all;
  };
  const auto second_half = [call](const Tensor&) {
    std::vector<Tensor> rest;
    if (call->tape) {
      call->tape->backward_weights();
      rest = call->hand_out(true);
      call->tape.reset();
    } else {
      rest.resize(call->parameters.size());
    }
    rest.insert(rest.begin(), Tensor());
    return rest;
  };
  return tape.record(value, inputs, first_half, second_half);
}

}  // namespace lockstep::autograd
