// The update of a parameter in one step of an optimizer. An element's new value depends on its own
// gradient and state only, so a shard of a parameter (or of all parameters, flattened) is updated
// by the same call as the whole, to the same bits.
//   p value, g gradient, lr learning rate, wd weight decay, t updates so far, this one included
//
// Memory is walked once, and each operation is rounded by itself (no fused multiply-add): the same
// bits on every processor. Rates and factors are computed in float64 and then rounded to the
// elements' type, as PyTorch does.
#pragma once

#include <cstdint>
#include <span>

#include "engine/tensor/tensor.hpp"

namespace lockstep {

enum class Nesterov : std::uint8_t { no, yes };

//   g ← g + wd·p                        coupled decay: it passes through the velocity
//   v ← momentum·v + g                  v starts at zero: the first velocity is g itself
//   p ← p - lr·v                        or p - lr·(g + momentum·v) with Nesterov
//   Source    PyTorch's torch.optim.SGD without dampening; [GOY17] §3 on where the rate stands
struct SgdRule {
  double learning_rate = 0;
  double momentum = 0;
  double weight_decay = 0;
  Nesterov nesterov = Nesterov::no;
};

// How weight decay enters Adam. Coupled: it is added to the gradient, so the second moment divides
// it, and weights with large gradients decay less. Decoupled (AdamW): p ← (1 - lr·wd)·p before the
// step, the same share of every weight. Source: [LH17] algorithm 2.
enum class DecayForm : std::uint8_t { coupled, decoupled };

//   m ← m + (1 - β₁)·(g - m)            first moment, `exp_avg`
//   v ← β₂·v + (1 - β₂)·g²              second moment, `exp_avg_sq`
//   p ← p - lr/(1 - β₁ᵗ) · m / (√v / √(1 - β₂ᵗ) + ε)
// Both moments start at zero; the divisions by 1 - βᵗ undo the bias of that start.
//   Source    [KB14] algorithm 1, in the order of PyTorch's torch.optim.Adam
struct AdamRule {
  double learning_rate = 0;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;
  DecayForm decay_form = DecayForm::coupled;
};

namespace ops {

// In place; the tensors are of one shape and dtype. `velocity` may be undefined when momentum is 0,
// and is not read then.
void sgd_update_(const Tensor& value, const Tensor& grad, const Tensor& velocity,
                 const SgdRule& rule);
//   Requires  updates ≥ 1
void adam_update_(const Tensor& value, const Tensor& grad, const Tensor& first,
                  const Tensor& second, const AdamRule& rule, std::int64_t updates);

// In place: each gradient · factor. Returns [1] int64: 1 where an element of any was infinite or
// NaN before, else 0.
Tensor unscale_(std::span<const Tensor> grads, double factor);

}  // namespace ops
}  // namespace lockstep
