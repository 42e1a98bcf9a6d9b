// Plays token_weighted_mean: sums of losses and their gradients, as the judge made them.
#include "grader/parts/05_data_parallel/token_weighted_mean/case.hpp"

#include "grader/play/ranks_play.hpp"

namespace lockstep::grader {

Bytes play(sim::PlayerCase& played) {
  return play_in_group<WeightedCase>(
      played, [](comm::ProcessGroup& group, const WeightedCase& c, Device& device) {
        std::vector<WeightedReport> reports;
        for (const WeightedCall& call : c.calls) {
          const HeldParameters held(call.mine, device);
          const double loss = data_parallel::weighted_average(group, held.list(), call.loss);
          reports.push_back({loss, held.report()});
        }
        return reports;
      });
}

}  // namespace lockstep::grader
