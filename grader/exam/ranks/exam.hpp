// The exam of a part that the ranks of a group compute together (play/ranks_play.hpp). An exam says
// what each member is given and what is right; drawing, dealing out to the ranks of the world,
// collecting, and making a failing problem smaller are here.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "grader/exam/ranks/asked.hpp"
#include "grader/exam/ranks/lost_peer_rules.hpp"
#include "grader/exam/ranks/members.hpp"
#include "grader/judge/case_runner.hpp"
#include "grader/judge/wrong_number.hpp"

namespace lockstep::grader {

// Problem has Members `members`, a `schedule_seed` and a description(); Case is what a rank is
// given (the part's own, and GroupChoice `group` and Peer `peer` unless it is alone); Report what a
// member hands back; Services, if any, what the judge serves to the ranks of a case. Services that
// know each other are one: a std::unique_ptr to what has them as all().
template <typename Problem, typename Case, typename Report, typename... Services>
struct RanksContract {
  // Makes the case of the member `rank` of the group; the salt is drawn anew for each case. A rank
  // that sits out gets a Case without anything.
  std::function<Case(const Problem&, std::uint64_t salt, int rank)> case_of;
  // Reports by rank of the group, and what the services have seen. Throws Failure through the
  // runner.
  std::function<void(CaseRunner&, const Played&, const Problem&, std::uint64_t salt,
                     const std::vector<Report>&, const Services&...)>
      compare;
  // Adds the situations into which a rank's case puts the part, as what it holds says (asked.hpp).
  // Those that only the check knows of, which makes the problem, it gives to play() or judge().
  std::function<void(const Problem&, std::uint64_t salt, int rank, const Case&, Situations&)>
      ask_of{};
  // Looks at what a member kept when it lost a peer (keeping(), play/lost_peer.hpp).
  std::function<void(CaseRunner&, const Played&, const Problem&, std::uint64_t salt, int rank,
                     const Bytes& kept)>
      unchanged{};
  // Smaller problems to try when one fails, boldest first. Without it, nothing is shrunk.
  std::function<std::vector<Problem>(const Problem&)> smaller{};
  // New ones for each case. They may read the processes' memory through the runner.
  std::function<std::tuple<Services...>(CaseRunner&, const Problem&, std::uint64_t salt)> services =
      [](CaseRunner&, const Problem&, std::uint64_t) { return std::tuple<Services...>(); };
  // Says of what the core found (a mismatch, a buffer in flight) what it is to this part: a bucket,
  // a pass.
  std::function<void(Failure&, const Problem&, const Services&...)> explain{};
  // How often the ranks of a case may ask the judge, all together; without, as often as usual.
  std::function<std::int64_t(const Problem&)> requests_max{};
};

inline void add_service(std::vector<sim::Service*>& all, sim::Service& one) { all.push_back(&one); }
template <typename World>
void add_service(std::vector<sim::Service*>& all, const std::unique_ptr<World>& world) {
  for (sim::Service* const one : world->all()) all.push_back(one);
}

template <typename Problem, typename Case, typename Report, typename... Services>
CaseSetup setup_of(const RanksContract<Problem, Case, Report, Services...>& contract,
                   const Problem& p, std::uint64_t salt, Peer peer,
                   std::tuple<Services...>& services, Situations asked) {
  CaseSetup setup;
  setup.description = p.description();
  setup.schedule_seed = p.schedule_seed;
  asked.merge(situations_of(p.members));
  for (int world_rank = 0; world_rank < p.members.world; ++world_rank) {
    Case one;
    if (p.members.contain(world_rank)) {
      const int rank = p.members.group_rank(world_rank);
      one = contract.case_of(p, salt, rank);
      if (contract.ask_of) contract.ask_of(p, salt, rank, one, asked);
    }
    if constexpr (requires { one.group; }) {
      one.group = p.members.choice_of(world_rank);
      one.peer = peer;
    }
    setup.inputs.push_back(fields_to_bytes(one));
  }
  setup.situations.assign(asked.begin(), asked.end());
  if (contract.requests_max) setup.limits.requests_max = contract.requests_max(p);
  std::apply([&](Services&... each) { (add_service(setup.services, each), ...); }, services);
  return setup;
}

// Plays the case of `salt` and compares. `asked`: its situations that the contract does not see.
// nullopt as of CaseRunner::play.
template <typename Problem, typename Case, typename Report, typename... Services>
std::optional<Played> play(CaseRunner& runner,
                           const RanksContract<Problem, Case, Report, Services...>& contract,
                           const Problem& p, std::uint64_t salt, Situations asked = {}) {
  const CaseRunner::Place start = runner.place();
  auto services = contract.services(runner, p, salt);
  std::optional<Played> played;
  try {
    played = runner.play(setup_of(contract, p, salt, Peer::stays, services, std::move(asked)));
  } catch (Failure& found) {
    const auto explained = [&](const Services&... seen) { contract.explain(found, p, seen...); };
    if (contract.explain) std::apply(explained, services);
    throw;
  }
  if (!played) return played;
  std::vector<Report> reports;
  for (const int member : p.members.ranks) {
    reports.push_back(read_fields<Report>(played->results->of(member)));
  }
  const auto compare = [&](const Services&... seen) {
    contract.compare(runner, *played, p, salt, reports, seen...);
  };
  try {
    std::apply(compare, services);
  } catch (Failure& found) {
    const bool may_be_kept = found.verdict == Verdict::wrong_answer && found.cause != "stale";
    if (may_be_kept && runner.passes_alone(start, [&] { play(runner, contract, p, salt); })) {
      throw Failure(because_instead(right_alone(), std::move(found)));
    }
    throw;
  }
  return played;
}
// One case of it, of a salt that is drawn.
template <typename Problem, typename... Others>
std::optional<Played> play(CaseRunner& runner, const RanksContract<Problem, Others...>& contract,
                           const Problem& p, Situations asked = {}) {
  return play(runner, contract, p, runner.draw(), std::move(asked));
}

// Two cases of one salt: what the second one finds of the first must not matter.
template <typename Problem, typename... Others>
void play_twice(CaseRunner& runner, const RanksContract<Problem, Others...>& contract,
                const Problem& p) {
  const std::uint64_t salt = runner.draw();
  play(runner, contract, p, salt);
  play(runner, contract, p, salt, {Situation::same_call_twice});
}

// The same, and a problem that fails is made smaller. `cost` looks at what a right case cost.
template <typename Problem, typename... Others>
void judge(CaseRunner& runner, const RanksContract<Problem, Others...>& contract, const Problem& p,
           const std::type_identity_t<
               std::function<void(CaseRunner&, const Played&, const Problem&)>>& cost = {},
           const Situations& asked = {}) {
  // One rank sends nothing and waits for nobody: what costs too much is shown on two at least.
  const auto says_nothing = [&](const Failure& failure, const Problem& one) {
    return failure.verdict == Verdict::efficiency && one.members.size() < 2 && p.members.size() > 1;
  };
  const auto once = [&](const Problem& one) {
    try {
      const auto played = play(runner, contract, one, asked);
      if (played && cost) cost(runner, *played, one);
    } catch (const Failure& failure) {
      if (!says_nothing(failure, one)) throw;
    }
  };
  if (!contract.smaller) return once(p);
  runner.examine<Problem>(p, once, contract.smaller);
}

// The rank `dies` is lost at its request number `at_request`; the others must say so.
template <typename Problem, typename... Others>
void judge_lost_peer(CaseRunner& runner, const RanksContract<Problem, Others...>& contract,
                     const Problem& p, int dies, int at_request) {
  const std::uint64_t salt = runner.draw();
  auto services = contract.services(runner, p, salt);
  check_lost_peer(runner, setup_of(contract, p, salt, Peer::lost, services, {}),
                  {dies, at_request});
}

// One after the other, the ranks `dead` of their problems are lost at each of their requests, in
// `cases` cases (at_each_request); the others must say so. All problems have one salt, since the
// requests are counted in a rehearsal. A case in which nobody dies is compared.
template <typename Problem, typename... Others>
void judge_lost_peers(CaseRunner& runner, const RanksContract<Problem, Others...>& contract,
                      const std::vector<std::pair<Problem, int>>& dead, int cases,
                      int requests_max = 12) {
  const std::uint64_t salt = runner.draw();
  const auto requests_of = [&](int number) {
    const auto& [p, dies] = dead[static_cast<std::size_t>(number)];
    auto services = contract.services(runner, p, salt);
    const auto counters = runner.rehearse(setup_of(contract, p, salt, Peer::lost, services, {}));
    return counters.ranks[static_cast<std::size_t>(dies)].requests;
  };
  const auto lose = [&](const Problem& p, const Death& death) {
    Situations asked{Situation::lost_at_each_request};
    CheckKept check_kept;
    if (contract.unchanged) {
      asked.insert(Situation::unchanged_after_a_failure);
      check_kept = [&](const Played& played, int rank, const Bytes& kept) {
        contract.unchanged(runner, played, p, salt, p.members.group_rank(rank), kept);
      };
    }
    auto services = contract.services(runner, p, salt);
    check_lost_peer(runner, setup_of(contract, p, salt, Peer::lost, services, std::move(asked)),
                    death, check_kept);
  };
  const auto judge = [&](int number, std::int64_t request) {
    const auto& [p, dies] = dead[static_cast<std::size_t>(number)];
    if (request > 0) return lose(p, {dies, request});
    play(runner, contract, p, salt, {Situation::after_an_exception});
  };
  at_each_request(runner, {.cases = cases,
                           .requests_max = requests_max,
                           .problems = static_cast<int>(dead.size()),
                           .requests_of = requests_of,
                           .judge = judge});
}

// The same for one problem, of which every rank dies, the last one first.
template <typename Problem, typename... Others>
void judge_lost_peers(CaseRunner& runner, const RanksContract<Problem, Others...>& contract,
                      const Problem& p, int cases = 14) {
  std::vector<std::pair<Problem, int>> dead;
  for (int rank = p.members.size() - 1; rank >= 0; --rank) {
    dead.emplace_back(p, p.members.ranks[static_cast<std::size_t>(rank)]);
  }
  judge_lost_peers(runner, contract, dead, cases, cases - 1);
}

}  // namespace lockstep::grader
