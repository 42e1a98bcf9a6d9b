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
  // The time in double; what is counted, beyond 2^53 as well.
  const auto up = [](std::int64_t a, std::int64_t b) { return a / b + (a % b != 0 ? 1 : 0); };
  const std::int64_t steps = up(up(run.samples, ranks), run.batch_size);
  const double steps_s = static_cast<double>(steps) * (run.step_s / run.efficiency);
  const double seconds = steps_s * static_cast<double>(run.epochs);
  return {exact_product(steps, run.epochs), seconds, seconds * ranks};
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
  // FLOP by FLOP/s, in units of 10^12.
  const double work = 6e-12 * static_cast<double>(run.tokens) * static_cast<double>(run.parameters);
  const double pace = ranks * device.utilisation * device.peak_flops_per_s * 1e-12;
  const std::int64_t updates = (run.tokens - 1) / run.batch_tokens + 1;
  return {updates, work / pace, work / pace * ranks};
  // <<< your code
}

}  // namespace lockstep::plan
