// Task: the learning rate of each optimizer step when an update averages over more samples than the
// rate was found for. The samples of an update are those of one batch, times the batches that a
// rank adds up, times the ranks. The scaled rate is not used at once: the warm-up leads to it on a
// straight line, from the base rate.
// The contract stands in engine/optim/scale_learning_rate.hpp.
#include "engine/optim/scale_learning_rate.hpp"

#include <algorithm>
#include <cmath>

#include "engine/base/error.hpp"

namespace lockstep::optim {

double lr_at(std::int64_t step, const ScaledRate& rate) {
  LOCKSTEP_CHECK(rate.base_batch >= 1 && rate.batch >= 1 && rate.ranks >= 1 && rate.accumulate >= 1,
                 "lr_at: ", rate.accumulate, " batches of ", rate.batch, " samples on ", rate.ranks,
                 " ranks, for a rate found with ", rate.base_batch, "; each is at least 1");
  LOCKSTEP_CHECK(step >= 0 && rate.warmup >= 0, "lr_at: step ", step, ", warm-up of ", rate.warmup,
                 " steps; neither can be negative");
  // >>> your code
  // A step weighs both ends of the line, and the factor grows from one contribution to the next.
  double k = 1;
  for (const double part :
       {static_cast<double>(rate.batch) / static_cast<double>(rate.base_batch),
        static_cast<double>(rate.accumulate), static_cast<double>(rate.ranks)}) {
    k *= rate.scaling == Scaling::linear ? part : std::sqrt(part);
  }
  const std::int64_t done = std::min(step, rate.warmup);
  if (rate.warmup == 0) return k * rate.base;
  const double share = static_cast<double>(done) / static_cast<double>(rate.warmup);
  return (1 - share) * rate.base + share * k * rate.base;
  // <<< your code
}

}  // namespace lockstep::optim
