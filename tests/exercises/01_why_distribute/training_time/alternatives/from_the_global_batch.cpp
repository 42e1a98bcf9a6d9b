// Task: estimate how long a training takes on N ranks, how many updates the parameters get, and how
// many seconds of all ranks together are paid for. Two forms: from the time of one measured step,
// where batches and ranks rarely divide the samples, and from the number of operations, 6 for each
// parameter and token. The contract of both stands in engine/plan/training_time.hpp.
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
  // Rounding up twice is rounding up once by the product: all ranks together take ranks ·
  // batch_size samples in a step.
  const std::int64_t together = run.batch_size * ranks;
  std::int64_t steps = run.samples / together;
  if (steps * together < run.samples) ++steps;
  TimeEstimate estimate{steps * run.epochs, 0, 0};
  for (std::int64_t epoch = 0; epoch < run.epochs; ++epoch) {
    estimate.seconds += static_cast<double>(steps) * run.step_s;
  }
  estimate.seconds /= run.efficiency;
  estimate.rank_seconds = estimate.seconds * ranks;
  return estimate;
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
  // The time of one token first.
  const double operations_of_token = 2.0 * static_cast<double>(run.parameters) * (1 + 2);
  const double token_s = operations_of_token / (device.peak_flops_per_s * device.utilisation);
  TimeEstimate estimate{(run.tokens - 1) / run.batch_tokens + 1, 0, 0};
  estimate.rank_seconds = token_s * static_cast<double>(run.tokens);
  estimate.seconds = estimate.rank_seconds / ranks;
  return estimate;
  // <<< your code
}

}  // namespace lockstep::plan
