// The exam of a part that the ranks of a group compute together (play/ranks_play.hpp). An exam says
// what each member is given and what is right; drawing, dealing out to the ranks of the world,
// collecting, and making a failing problem smaller are here.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

#include "grader/exam/lost_peer_rules.hpp"
#include "grader/exam/members.hpp"
#include "grader/judge/bench.hpp"

namespace lockstep::grader {

// Problem has Members `members`, a `schedule_seed` and a description(); Case is what a rank is
// given (GroupChoice `group`, Peer `peer`, and the part's own); Report what a member hands back.
template <typename Problem, typename Case, typename Report>
struct RanksContract {
  // What the member `rank` of the group is given; the salt is drawn anew for each case. A rank
  // that sits out gets a Case without anything.
  std::function<Case(const Problem&, std::uint64_t salt, int rank)> case_of;
  // Reports by rank of the group. Throws Failure through the bench.
  std::function<void(Bench&, const Played&, const Problem&, std::uint64_t salt,
                     const std::vector<Report>&)>
      compare;
  // Problems that are smaller, bold ones first; none where a case is not made smaller.
  std::function<std::vector<Problem>(const Problem&)> smaller{};
};

template <typename Problem, typename Case, typename Report>
CaseSetup setup_of(const RanksContract<Problem, Case, Report>& contract, const Problem& p,
                   std::uint64_t salt, Peer peer) {
  CaseSetup setup;
  setup.description = p.description();
  setup.schedule_seed = p.schedule_seed;
  for (int world_rank = 0; world_rank < p.members.world; ++world_rank) {
    Case one;
    if (p.members.contain(world_rank)) {
      one = contract.case_of(p, salt, p.members.group_rank(world_rank));
    }
    one.group = p.members.choice_of(world_rank);
    one.peer = peer;
    setup.inputs.push_back(fields_to_bytes(one));
  }
  return setup;
}

// Plays one case of it and compares. nullopt as of Bench::play.
template <typename Problem, typename Case, typename Report>
std::optional<Played> play(Bench& bench, const RanksContract<Problem, Case, Report>& contract,
                           const Problem& p) {
  const std::uint64_t salt = bench.draw();
  auto played = bench.play(setup_of(contract, p, salt, Peer::stays));
  if (!played) return played;
  std::vector<Report> reports;
  for (const int member : p.members.ranks) {
    reports.push_back(read_fields<Report>(played->results->of(member)));
  }
  contract.compare(bench, *played, p, salt, reports);
  return played;
}

// The same, and a problem that fails is made smaller. `cost` looks at what a right case cost.
template <typename Problem, typename Case, typename Report>
void judge(Bench& bench, const RanksContract<Problem, Case, Report>& contract, const Problem& p,
           const std::type_identity_t<std::function<void(Bench&, const Played&, const Problem&)>>&
               cost = {}) {
  const auto once = [&](const Problem& one) {
    const auto played = play(bench, contract, one);
    if (played && cost) cost(bench, *played, one);
  };
  if (!contract.smaller) return once(p);
  bench.examine<Problem>(p, once, contract.smaller);
}

// The rank `dies` is lost at its request number `at_request`; the others must say so.
template <typename Problem, typename Case, typename Report>
void judge_lost_peer(Bench& bench, const RanksContract<Problem, Case, Report>& contract,
                     const Problem& p, int dies, int at_request) {
  check_lost_peer(bench, setup_of(contract, p, bench.draw(), Peer::lost), dies, at_request);
}

}  // namespace lockstep::grader
