#include "engine/tensor/update_rules.hpp"

#include "engine/tensor/operation.hpp"

namespace lockstep::ops {

void sgd_update_(const Tensor& value, const Tensor& grad, const Tensor& velocity,
                 const SgdRule& rule) {
  check_float("sgd_update_", value);
  check_same("sgd_update_", value, grad);
  if (rule.momentum != 0) check_same("sgd_update_", value, velocity);
  value.device().kernels().sgd(grad, rule, value, rule.momentum != 0 ? velocity : Tensor());
  charge(value, 4, rule.momentum != 0 ? 5 : 3);
}

void adam_update_(const Tensor& value, const Tensor& grad, const Tensor& first,
                  const Tensor& second, const AdamRule& rule, std::int64_t updates) {
  check_float("adam_update_", value);
  check_same("adam_update_", value, grad);
  check_same("adam_update_", value, first);
  check_same("adam_update_", value, second);
  LOCKSTEP_CHECK(updates >= 1, "adam_update_: update ", updates,
                 "; updates count from 1, or the correction of the bias would divide by zero");
  value.device().kernels().adam(grad, rule, updates, value, first, second);
  charge(value, 12, 7);
}

Tensor unscale_(std::span<const Tensor> grads, double factor) {
  LOCKSTEP_CHECK(!grads.empty(), "unscale_: no gradients, so no device for what is found");
  Device& device = grads.front().device();
  const Tensor found = empty({1}, DType::int64, device);
  device.kernels().fill(0, found);
  for (const Tensor& grad : grads) {
    check_float("unscale_", grad);
    device.kernels().unscale(grad, factor, found);
    charge(grad, 1, 2);
  }
  return found;
}

}  // namespace lockstep::ops
