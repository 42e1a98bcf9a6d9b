// Plays store_rendezvous: a rank that calls the part once for each meeting, at the time the case
// says, and tells the judge before and after.
#include "grader/parts/02_processes_and_ranks/store_rendezvous/case.hpp"

#include "engine/comm/worlds/sim/sim_store.hpp"
#include "grader/play/ranks_missing.hpp"

namespace lockstep::grader {

using Kind = MeetingReport::Kind;

Bytes play(sim::PlayerCase& played) {
  const auto c = read_fields<MeetingCase>(played.input);
  const auto store = comm::make_sim_store(played.port, c.store_timeout_s);
  for (std::uint32_t i = 0; i < c.meetings.size(); ++i) {
    const Meeting& m = c.meetings[i];
    pass_time(played.port, m.after_s);
    if (!m.comes) continue;
    tell(played.port, MeetingReport{.kind = Kind::calls, .step = i});
    auto report = outcome_of<MeetingReport>([&]() -> MeetingReport {
      return {.kind = Kind::returned,
              .addresses =
                  comm::rendezvous(*store, played.rank, m.size, m.mine, m.attempt, m.timeout_s)};
    });
    report.step = i;
    tell(played.port, report);
  }
  return {};
}

}  // namespace lockstep::grader
