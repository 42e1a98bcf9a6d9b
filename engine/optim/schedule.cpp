#include "engine/optim/schedule.hpp"

#include <cmath>
#include <numbers>

#include "engine/base/error.hpp"

namespace lockstep::optim {

double learning_rate_at(std::int64_t step, const CosineSchedule& schedule) {
  LOCKSTEP_CHECK(step >= 0, "learning_rate_at: step ", step, "; steps count from 0");
  LOCKSTEP_CHECK(schedule.warmup >= 0 && schedule.total >= 1, "learning_rate_at: warm-up ",
                 schedule.warmup, " of ", schedule.total, " steps; lengths are not negative");
  if (step < schedule.warmup) {
    return schedule.base * static_cast<double>(step + 1) / static_cast<double>(schedule.warmup);
  }
  if (step >= schedule.total) return 0;
  const double progress = static_cast<double>(step - schedule.warmup) /
                          static_cast<double>(schedule.total - schedule.warmup);
  return schedule.base * 0.5 * (1 + std::cos(std::numbers::pi * progress));
}

}  // namespace lockstep::optim
