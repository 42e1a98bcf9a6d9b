// Learning-rate schedules: pure functions of the step.
#pragma once

#include <cstdint>

namespace lockstep::optim {

// Linear warm-up from base/warmup to base over `warmup` steps, then half a cosine down to 0 at
// `total`. Steps count from 0 and are optimizer steps, not micro-batches.
struct CosineSchedule {
  double base = 0.1;
  std::int64_t warmup = 0;
  std::int64_t total = 1;
};
double learning_rate_at(std::int64_t step, const CosineSchedule& schedule);

}  // namespace lockstep::optim
