// Plays store_rendezvous: a rank that calls the part once for each meeting, at the time the case
// says, and tells the judge before and after.
#include "grader/players/store_rendezvous.hpp"

#include "engine/comm/sim_store.hpp"
#include "engine/comm/store_rendezvous.hpp"
#include "grader/players/ask.hpp"

namespace lockstep::grader {
namespace {

using Kind = MeetingReport::Kind;

MeetingReport outcome_of(comm::Store& store, int rank, const Meeting& m) {
  try {
    return {.kind = Kind::returned,
            .addresses = comm::rendezvous(store, rank, m.size, m.mine, m.attempt, m.timeout_s)};
  } catch (const comm::RanksMissing& error) {
    return {.kind = Kind::ranks_missing, .missing = error.ranks, .what = error.what()};
  } catch (const CommError& error) {
    return {.kind = Kind::comm_error, .what = error.what()};
  } catch (const NotImplemented&) {
    throw;
  } catch (const std::exception& error) {
    return {.kind = Kind::other_error, .what = error.what()};
  }
}

}  // namespace

Bytes play(sim::PlayerCase& played) {
  const MeetingCase c = decode_meeting_case(played.input);
  const auto store = comm::make_sim_store(played.port, c.store_timeout_s);
  for (std::uint32_t i = 0; i < c.meetings.size(); ++i) {
    const Meeting& m = c.meetings[i];
    pass_time(played.port, m.after_s);
    if (!m.comes) continue;
    ask(played.port, meetings_service, encode(MeetingReport{.kind = Kind::calls, .meeting = i}));
    MeetingReport report = outcome_of(*store, played.rank, m);
    report.meeting = i;
    ask(played.port, meetings_service, encode(report));
  }
  return {};
}

}  // namespace lockstep::grader
