// Bounding the global norm: one norm over all gradients together, one factor for all.
#include <cmath>

#include "engine/optim/optimizer.hpp"
#include "engine/tensor/ops.hpp"

namespace lockstep::optim {

double clip_grad_norm(std::span<Parameter* const> parameters, double max_norm) {
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
