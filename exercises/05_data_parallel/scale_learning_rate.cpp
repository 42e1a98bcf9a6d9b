// Task: the learning rate of each optimizer step when an update averages over more samples than the
// rate was tuned for. The samples of an update are those of one batch, times the batches that a
// rank accumulates, times the ranks. A warm-up leads from the base rate to the scaled rate on a
// straight line.
// The contract stands in engine/optim/scale_learning_rate.hpp.
#include "engine/optim/scale_learning_rate.hpp"

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
  // Avoids warnings about parameters that are not used yet.
  (void)step, (void)rate;
  throw NotImplemented("scale_learning_rate");
  // <<< your code
}

}  // namespace lockstep::optim
