// Plays negotiate: round after round, each with the gradients that are ready then.
#include "grader/parts/08_horovod/negotiate/case.hpp"

#include "grader/play/ranks_play.hpp"

namespace lockstep::grader {

Bytes play(sim::PlayerCase& played) {
  return play_in_group<NegotiateCase>(
      played, [](comm::ProcessGroup& group, const NegotiateCase& c, Device&) {
        NegotiateReport report;
        for (const Brought& brought : c.rounds) {
          std::vector<horovod::Request> ready;
          for (const AskedGradient& one : brought.ready) {
            ready.push_back({.name = one.name, .dtype = one.dtype, .waited_s = one.waited_s});
            for (const std::int64_t size : one.shape) ready.back().shape.push_back(size);
          }
          report.rounds.push_back(
              horovod::negotiate(group, ready, {brought.stall_limit_s, brought.outlook}));
        }
        return report;
      });
}

}  // namespace lockstep::grader
