// Bounding the global norm: one norm over all gradients together, one factor for all. Both stay on
// the device, so that nobody waits for them between backward and the update.
#include "engine/optim/optimizer.hpp"
#include "engine/tensor/ops.hpp"

namespace lockstep::optim {

Tensor clip_grad_norm(std::span<Parameter* const> parameters, double max_norm) {
  std::vector<Tensor> grads;
  for (const Parameter* parameter : parameters) {
    if (parameter->grad.defined()) grads.push_back(parameter->grad);
  }
  if (grads.empty()) return {};
  const auto [norm, factor] = ops::clip_factor(ops::sum_of_squares(grads), max_norm);
  if (max_norm > 0) {
    for (const Tensor& grad : grads) ops::scale_by_(grad, factor);
  }
  return norm;
}

}  // namespace lockstep::optim
