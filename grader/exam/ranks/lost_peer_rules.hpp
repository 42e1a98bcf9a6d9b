// The rules for ranks when one of them dies. A contract that throws CommError when a peer is lost
// promises that no caller mistakes a partial result for a complete one.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "grader/judge/case_runner.hpp"
#include "grader/play/lost_peer.hpp"

namespace lockstep::grader {

// Finds what is wrong with how `rank` ended; nothing if it threw CommError because a rank was
// killed, or returned without having been told of a death (then its result is to be looked at).
std::optional<Failure> failure_of(const LostPeerEnding& seen, int rank, const Results& results);

// Plays a case in which a rank dies. What the core finds in it is said as the part's failure, not
// as the death's.
std::optional<Played> play_with_a_death(CaseRunner& runner, const CaseSetup& setup);

// A rank dies at its k-th request to the judge, from 1; 0: nobody dies, though it was announced.
struct Death {
  int rank = 0;
  std::int64_t at_request = 1;
};

// Looks at what a rank kept when its part ended in an exception.
using CheckKept = std::function<void(const Played&, int rank, const Bytes& kept)>;

// Plays a case in which `rank` dies at its `at_request`-th request, and every other rank reports
// how its part ended (play_with_a_lost_peer): no rank may swallow what it was told of that death.
void check_lost_peer(CaseRunner& runner, CaseSetup setup, const Death& death,
                     const CheckKept& check_kept = {});

// The requests of `requests` at which a rank is killed: each of them, or `most` of them. Those are
// the first two, the last ones, in which a part comes to an end, and some in between.
std::vector<std::int64_t> requests_to_die_at(std::int64_t requests, int most);

// Problems in which a rank is lost at each of its requests, problem after problem, and behind each
// problem's deaths a case in which nobody dies: the ranks that were told of the last death play it,
// so that a part that kept something when it threw shows it.
struct EachRequest {
  int cases = 24;         // of all problems together; they begin anew when all were asked
  int requests_max = 12;  // of one problem
  int problems = 1;
  // Counts the requests that the rank that dies makes in a problem where it does not (rehearse).
  std::function<std::int64_t(int problem)> requests_of;
  // Plays one case; request 0: nobody dies. Draws nothing.
  std::function<void(int problem, std::int64_t request)> judge;
};
void at_each_request(CaseRunner& runner, const EachRequest& asked);

}  // namespace lockstep::grader
