// More ranks make fewer updates of an epoch, and idle time is paid for on each of them.
#include "engine/plan/training_time.hpp"
#include "lessons/myth.hpp"

using namespace lockstep;

int main() {
  myth::claim("Eight GPUs run the same training eight times as fast, for the same money.");
  const auto estimate = [](int ranks) {
    const plan::MeasuredRun run{.samples = 1'000'000,
                                .batch_size = 32,
                                .epochs = 10,
                                .step_s = 1,
                                .efficiency = ranks == 1 ? 1.0 : 0.8};
    const plan::TimeEstimate time = plan::training_time(run, ranks);
    std::cout << "  on " << ranks << ": " << time.updates << " updates, " << time.seconds / 3600
              << " hours, " << time.rank_seconds / 3600 << " device-hours\n";
    return time;
  };
  std::cout << "ten epochs of a million samples, 32 a rank, at an efficiency of 0.8\n";
  const auto one = estimate(1), eight = estimate(8);
  return myth::refuted_if(one.updates > 7 * eight.updates && one.seconds < 7 * eight.seconds &&
                              eight.rank_seconds > 1.2 * one.rank_seconds,
                          "Eight GPUs make an eighth of the updates, take more than an eighth of "
                          "the time, and cost more: it is another training.");
}
