// Learning rates as pure functions of the step. How they follow the size of the batch:
// engine/optim/scale_learning_rate.hpp.
#pragma once

#include <cstdint>

namespace lockstep::optim {

// The decay that follows the warm-up.
enum class Decay : std::uint8_t {
  constant,  // the base rate, for ever
  linear,    // a straight line from the base down to `last`
  cosine,    // half a cosine from the base down to `last`  [LH16] §3
};

// Linear warm-up from base/warmup to base over `warmup` steps, then `decay`, which reaches `last`
// at step `total` and stays there. Steps count from 0 and are optimizer steps, not micro-batches.
struct Schedule {
  Decay decay = Decay::constant;
  double base = 0.1;
  std::int64_t warmup = 0;
  // Steps, the warm-up among them, at least 1; the rates of Decay::constant do not depend on it.
  std::int64_t total = 1;
  double last = 0;
};
double learning_rate_at(std::int64_t step, const Schedule& schedule);

}  // namespace lockstep::optim
