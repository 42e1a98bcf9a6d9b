// The rules for ranks when one of them dies. A contract that throws CommError when a peer is lost
// promises that no caller mistakes a partial result for a complete one.
#pragma once

#include <optional>

#include "grader/judge/case_runner.hpp"
#include "grader/play/lost_peer.hpp"

namespace lockstep::grader {

// Finds what is wrong with how `rank` ended; nothing if it threw CommError because a rank was
// killed, or returned without having been told of a death (then its result is to be looked at).
std::optional<Failure> failure_of(const LostPeerEnding& seen, int rank, const Results& results);

// Plays a case in which a rank dies. What the core finds in it is said as the part's failure, not
// as the death's.
std::optional<Played> play_with_a_death(CaseRunner& runner, const CaseSetup& setup);

// Plays a case in which `rank` dies at its `at_request`-th request, and every other rank reports
// how its part ended (play_with_a_lost_peer): no rank may swallow what it was told of that death.
void check_lost_peer(CaseRunner& runner, CaseSetup setup, int rank, std::int64_t at_request);

}  // namespace lockstep::grader
