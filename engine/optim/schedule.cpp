#include "engine/optim/schedule.hpp"

#include <cmath>
#include <numbers>

#include "engine/base/error.hpp"

namespace lockstep::optim {

double learning_rate_at(std::int64_t step, const Schedule& schedule) {
  const auto& [decay, base, warmup, total, last] = schedule;
  LOCKSTEP_CHECK(step >= 0, "learning_rate_at: step ", step, "; steps count from 0");
  LOCKSTEP_CHECK(warmup >= 0 && total >= 1, "learning_rate_at: warm-up ", warmup, " of ", total,
                 " steps; a warm-up has at least 0 steps, the whole at least 1");
  if (step < warmup) {
    return base * static_cast<double>(step + 1) / static_cast<double>(warmup);
  }
  if (decay == Decay::constant) return base;
  if (step >= total) return last;
  const double progress = static_cast<double>(step - warmup) / static_cast<double>(total - warmup);
  const double left =
      decay == Decay::linear ? 1 - progress : 0.5 * (1 + std::cos(std::numbers::pi * progress));
  return last + (base - last) * left;
}

}  // namespace lockstep::optim
