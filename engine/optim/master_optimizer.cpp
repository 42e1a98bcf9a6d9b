#include "engine/optim/master_optimizer.hpp"

#include <utility>

#include "engine/tensor/ops.hpp"

namespace lockstep::optim {

MasterOptimizer::MasterOptimizer(std::unique_ptr<Optimizer> inner, std::vector<Parameter*> rounded,
                                 const MasterOptions& options)
    : inner_(std::move(inner)), rounded_(std::move(rounded)), clip_norm_(options.clip_norm) {
  const auto masters = inner_->parameters();
  LOCKSTEP_CHECK(masters.size() == rounded_.size(), "master optimizer: ", masters.size(),
                 " masters of ", rounded_.size(), " parameters; each parameter has one");
  for (std::size_t i = 0; i < masters.size(); ++i) {
    const std::int64_t elements = masters[i]->value.numel();
    const std::int64_t rounded_elements = rounded_[i]->value.numel();
    LOCKSTEP_CHECK(masters[i]->name == rounded_[i]->name && elements == rounded_elements,
                   "master optimizer: ", masters[i]->name, " of ", elements,
                   " elements is no master of ", rounded_[i]->name, " of ", rounded_elements,
                   "; make both of one model");
  }
  if (options.scaler) scaler_.emplace(*options.scaler);
  round();
}

void MasterOptimizer::round() {
  for (std::size_t i = 0; i < rounded_.size(); ++i) {
    rounded_[i]->value.convert_(inner_->parameters()[i]->value);
  }
}

void MasterOptimizer::step() {
  std::vector<Tensor> grads;
  for (const Parameter* parameter : rounded_) {
    if (parameter->grad.defined()) grads.push_back(parameter->grad);
  }
  if (grads.empty()) return;
  const double scale = loss_scale();
  const Overflow overflow = look(grads);
  if (scaler_) scaler_->update(overflow);
  if (overflow == Overflow::yes) return;

  const Tensor factor = clip_norm_ > 0 ? clip_factor(grads, scale) : Tensor();
  for (std::size_t i = 0; i < rounded_.size(); ++i) {
    const Tensor& grad = rounded_[i]->grad;
    if (!grad.defined()) continue;
    Parameter& master = *inner_->parameters()[i];
    master.grad = grad.to(master.value.dtype(), MemoryKind::gradients);
    if (scale != 1) master.grad.scale_(1 / scale);
    if (factor.defined()) ops::scale_by_(master.grad, factor);
    inner_->step_one(i);
    master.grad = {};
    rounded_[i]->value.convert_(master.value);
  }
}

void MasterOptimizer::zero_grad() {
  for (Parameter* parameter : rounded_) parameter->grad = {};
}

// Multiplied by 1, the gradients stay as they are.
Overflow MasterOptimizer::look(std::span<const Tensor> grads) const {
  return scaler_ ? LossScaler::told_by(ops::unscale_(grads, 1)) : Overflow::no;
}

// The squares are those of scaled gradients, so their sum has the square of the scale.
Tensor MasterOptimizer::clip_factor(std::span<const Tensor> grads, double scale) const {
  const Tensor squares = ops::sum_of_squares(grads);
  if (scale != 1) squares.scale_(1 / (scale * scale));
  return ops::clip_factor(squares, clip_norm_).factor;
}

}  // namespace lockstep::optim
