// Dynamic loss scaling, for gradients too small for a narrow type: the loss is multiplied by a
// large factor before backward, and the gradients are divided by it before the step. When a
// gradient overflows, the step is skipped and the factor halved; after `interval` steps that did
// not, it is doubled, to find out how large it may be.
//
//   scaler.scale() · loss → backward
//   const Overflow overflow = scaler.unscale_and_check(parameters);   // then clip, if one clips
//   if (overflow == Overflow::no) optimizer.step();
//   scaler.update(overflow);
//
// With several ranks all must agree on `overflow` (a maximum over the group), or replicas part
// ways. Source: [MIX17] §3.2; the rule and its numbers are PyTorch's torch.amp.GradScaler.
#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include "engine/autograd/tape.hpp"

namespace lockstep::optim {

enum class Overflow : std::uint8_t { no, yes };  // yes: some gradient is infinite or NaN

enum class ScaleRule : std::uint8_t { dynamic, fixed };  // fixed: overflows are skipped, no more

struct LossScalerOptions {
  float initial_scale = 65536;
  float growth = 2;
  float backoff = 0.5;
  std::int64_t interval = 2000;  // updates in a row without overflow after which the scale grows
  // The scale that is not halved again. DeepSpeed's min_loss_scale is 1; GradScaler has none.
  float least = std::numeric_limits<float>::min();
  ScaleRule rule = ScaleRule::dynamic;
};

// The state that a checkpoint keeps.
struct LossScalerState {
  float scale;
  std::int64_t clean_updates;  // in a row, since the scale last changed; PyTorch's _growth_tracker
  bool operator==(const LossScalerState&) const = default;
};

class LossScaler {
 public:
  //   Throws  ContractError unless growth > 1, 0 < backoff < 1, interval ≥ 1 and both scales are
  //           positive numbers
  explicit LossScaler(const LossScalerOptions& options = {});

  double scale() const { return state_.scale; }
  ScaleRule rule() const { return options_.rule; }

  // Multiplies every gradient by 1/scale, and says whether one of them was not finite. All are
  // multiplied in either case: after an overflow, drop them with zero_grad.
  Overflow unscale_and_check(std::span<Parameter* const> parameters) const;

  // The same in two halves, for gradients that are no parameters' own, and for ranks that agree in
  // between: they take the maximum of what each has found, [1] int64.
  //   grads  at least one
  Tensor unscale(std::span<const Tensor> grads) const;
  static Overflow told_by(const Tensor& found);  // no, on a device without numbers

  // Once a step, after it was taken or skipped. A scale that growth would make infinite stays.
  //   Throws  Error when the scale would fall below the least, or when a fixed one overflows 17
  //           times in a row, which would bring 2^16 below 1
  void update(Overflow overflow);
  std::int64_t skipped() const { return skipped_; }  // updates with overflow, since it was made

  LossScalerState state() const { return state_; }
  void load_state(const LossScalerState& state);  // throws ContractError on a scale that is none

 private:
  LossScalerOptions options_;
  LossScalerState state_;
  std::int64_t skipped_ = 0;
  int overflows_ = 0;  // in a row
};

}  // namespace lockstep::optim
