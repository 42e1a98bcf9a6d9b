// Task: the learning rate of each optimizer step when an update averages over more samples than the
// rate was found for. The samples of an update are those of one batch, times the batches that a
// rank adds up, times the ranks. The scaled rate is not used at once: the warm-up leads to it on a
// straight line, from the base rate.
// The contract stands in engine/optim/scale_learning_rate.hpp.
#include "engine/optim/scale_learning_rate.hpp"

#include <cmath>
#include <vector>

#include "engine/base/error.hpp"

namespace lockstep::optim {

double lr_at(std::int64_t step, const ScaledRate& rate) {
  LOCKSTEP_CHECK(rate.base_batch >= 1 && rate.batch >= 1 && rate.ranks >= 1 && rate.accumulate >= 1,
                 "lr_at: ", rate.accumulate, " batches of ", rate.batch, " samples on ", rate.ranks,
                 " ranks, for a rate found with ", rate.base_batch, "; each is at least 1");
  LOCKSTEP_CHECK(step >= 0 && rate.warmup >= 0, "lr_at: step ", step, ", warm-up of ", rate.warmup,
                 " steps; neither can be negative");
  // >>> your code
  // The warm-up's rates in a table, one amount after the other; what follows has one rate.
  const double k = static_cast<double>(rate.batch) / static_cast<double>(rate.base_batch) *
                   static_cast<double>(rate.accumulate) * rate.ranks;
  const double last = rate.base * std::pow(k, rate.scaling == Scaling::linear ? 1.0 : 0.5);
  std::vector<double> table;
  for (std::int64_t i = 0; i < rate.warmup; ++i) {
    const double left = static_cast<double>(rate.warmup - i);
    const double before = table.empty() ? rate.base : table.back();
    table.push_back(i == 0 ? rate.base : before + (last - before) / (left + 1));
  }
  return step < rate.warmup ? table[static_cast<std::size_t>(step)] : last;
  // <<< your code
}

}  // namespace lockstep::optim
