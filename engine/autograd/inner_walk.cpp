#include "engine/autograd/inner_walk.hpp"

#include <algorithm>
#include <utility>

#include "engine/tensor/ops.hpp"

namespace lockstep::autograd {
namespace {

Tensor zeros_like(const Tensor& like) {
  return zeros(like.shape(), like.dtype(), like.device(), MemoryKind::activations);
}

}  // namespace

InnerWalk::InnerWalk(std::unique_ptr<Tape> inner, Value input, Value output,
                     std::vector<Parameter*> parameters)
    : inner_(std::move(inner)),
      input_(std::move(input)),
      output_(std::move(output)),
      parameters_(std::move(parameters)) {}

std::vector<Tensor> InnerWalk::begin(const Tape& outer, const Tensor& grad) {
  found_.assign(parameters_.size() + 1, {});
  const Tape::LeafSink sink = [this](const Parameter& parameter, const Tensor& sum) {
    const auto at = std::ranges::find(parameters_, &parameter) - parameters_.begin();
    if (at < std::ssize(parameters_)) found_[static_cast<std::size_t>(at) + 1] = sum;
  };
  if (outer.in_halves()) {
    inner_->backward_inputs(output_, grad, sink);
  } else {
    inner_->backward(output_, grad, sink);
  }
  output_ = {};
  found_[0] = inner_->gradient_of(input_);
  if (!found_[0].defined()) found_[0] = zeros_like(input_.tensor);
  input_ = {};
  if (!outer.in_halves()) return all();
  for (const Tensor& found : found_) given_.push_back(found.defined());
  return std::exchange(found_, std::vector<Tensor>(found_.size()));
}

std::vector<Tensor> InnerWalk::end() {
  if (given_.empty()) return std::vector<Tensor>(parameters_.size() + 1);
  inner_->backward_weights();
  return all();
}

// Inputs on which the output does not depend have the gradient zero.
std::vector<Tensor> InnerWalk::all() {
  inner_.reset();
  for (std::size_t i = 1; i < found_.size(); ++i) {
    const bool lacks = !found_[i].defined() && (given_.empty() || !given_[i]);
    if (lacks) found_[i] = zeros_like(parameters_[i - 1]->value);
  }
  return std::exchange(found_, {});
}

}  // namespace lockstep::autograd
