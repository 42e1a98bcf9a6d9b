// Bounding the global norm: one norm over all gradients together, one factor for all.
#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/optim/optimizer.hpp"
#include "engine/tensor/ops.hpp"

namespace lockstep::optim {

namespace {

// What the norm and the scaling cost on a device whose gradients have no numbers.
void charge_clipping(std::span<Parameter* const> parameters, double max_norm) {
  for (const Parameter* parameter : parameters) {
    const Tensor& grad = parameter->grad;
    if (!grad.defined()) continue;
    grad.device().charge(2.0 * static_cast<double>(grad.numel()),
                         static_cast<double>(grad.bytes()));
    if (max_norm > 0) grad.scale_(1);
  }
}

}  // namespace

double clip_grad_norm(std::span<Parameter* const> parameters, double max_norm) {
  const bool numbers = std::all_of(parameters.begin(), parameters.end(), [](const Parameter* one) {
    return one->value.device().has_numbers();
  });
  if (!numbers) {
    charge_clipping(parameters, max_norm);
    return std::numeric_limits<double>::quiet_NaN();
  }
  double squares = 0;
  for (const Parameter* parameter : parameters) {
    if (parameter->grad.defined()) squares += ops::sum_of_squares(parameter->grad);
  }
  const double norm = std::sqrt(squares);
  const double factor = max_norm / (norm + 1e-6);
  if (max_norm > 0 && factor < 1 && std::isfinite(norm)) {
    for (const Parameter* parameter : parameters) {
      if (parameter->grad.defined()) parameter->grad.scale_(factor);
    }
  }
  return norm;
}

}  // namespace lockstep::optim
