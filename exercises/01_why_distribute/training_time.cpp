// Task: estimate how long training takes on N ranks, how many updates the parameters get, and the
// seconds of all ranks together, which are the cost. Two forms: from the time of one measured step,
// where batches and ranks rarely divide the samples, and from the number of operations, 6 per
// parameter and token. The contract of both is in engine/plan/training_time.hpp.
#include "engine/plan/training_time.hpp"

#include "engine/base/error.hpp"
#include "engine/base/exact.hpp"

namespace lockstep::plan {

TimeEstimate training_time(const MeasuredRun& run, int ranks) {
  LOCKSTEP_CHECK(ranks >= 1 && run.samples >= 1 && run.batch_size >= 1 && run.epochs >= 0,
                 "training_time: ", run.samples, " samples in batches of ", run.batch_size, " on ",
                 ranks, " ranks, ", run.epochs, " epochs; counts must be positive");
  LOCKSTEP_CHECK(run.step_s >= 0 && run.efficiency > 0 && run.efficiency <= 1,
                 "training_time: steps of ", run.step_s, " s at an efficiency of ", run.efficiency,
                 "; time is not negative, efficiency is in (0, 1]");
  // >>> your code
  // Avoids warnings about parameters that are not used yet.
  (void)run, (void)ranks;
  throw NotImplemented("training_time");
  // <<< your code
}

TimeEstimate training_time(const CountedRun& run, const Accelerator& device, int ranks) {
  LOCKSTEP_CHECK(ranks >= 1 && run.parameters >= 1 && run.tokens >= 1 && run.batch_tokens >= 1,
                 "training_time: ", run.parameters, " parameters, ", run.tokens, " tokens, ",
                 run.batch_tokens, " an update, ", ranks, " ranks; all must be positive");
  LOCKSTEP_CHECK(device.peak_flops_per_s > 0 && device.utilisation > 0 && device.utilisation <= 1,
                 "training_time: a peak of ", device.peak_flops_per_s, " FLOP/s used to ",
                 device.utilisation, "; the peak is positive, utilisation in (0, 1]");
  // >>> your code
  // Avoids warnings about parameters that are not used yet.
  (void)run, (void)device, (void)ranks;
  throw NotImplemented("training_time");
  // <<< your code
}

}  // namespace lockstep::plan
