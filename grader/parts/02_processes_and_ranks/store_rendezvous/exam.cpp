// The exam of store_rendezvous. The judge serves the store, in virtual time: ranks come late by as
// much as it likes, a wait ends at its deadline, and every call is counted.
#include "grader/parts/02_processes_and_ranks/store_rendezvous/case.hpp"

#include "grader/parts/02_processes_and_ranks/store_rendezvous/rules.hpp"

namespace lockstep::grader::store_rendezvous {
namespace {

using Plan = MeetingPlan;
using Problem = MeetingProblem;
using Meetings = ReportedService<MeetingReport>;

const RanksChecks checks(ServicesContract<Problem, MeetingCase, LosableStore, Meetings>{
    .case_of = [](const Problem& p, std::uint64_t salt, int rank) { return p.case_of(salt, rank); },
    .compare =
        [](CaseRunner& runner, const Played& played, const Problem& p, std::uint64_t salt,
           const auto&, const LosableStore& store, const Meetings& meetings) {
          check_outcomes(runner, played, {p.ranks_of(salt), store.store, meetings, p.lost_s});
        },
    .ask_of =
        [](const Problem& p, std::uint64_t, int, const MeetingCase&, Situations& asked) {
          if (p.plans.size() > 1) asked.insert(Situation::same_call_twice);
        },
    .smaller = smaller_by(shorter(&Problem::plans), fewer_ranks),
    .services =
        [](CaseRunner&, const Problem& p, std::uint64_t) {
          return std::tuple(LosableStore(store_call_s, p.lost_s), Meetings({.steps = 100}));
        },
    .requests_max =
        [](const Problem& p) {
          // Two reports, a moment of waiting, and four times the calls that are enough.
          std::int64_t calls = 0;
          for (const Plan& plan : p.plans) {
            const auto enough = static_cast<std::int64_t>(store_calls_max(p.size_of(plan)));
            calls += p.members.size() * (3 + 4 * enough);
          }
          return calls;
        }});

// From two ranks on: alone, one call more is no harm.
const auto of_calls = checks.then([](CaseRunner& runner, const Played& played, const Problem& p,
                                     const LosableStore& store, const Meetings& meetings) {
  check_calls(runner, played, {p.ranks_of(0), store.store, meetings, p.lost_s});
});

// get() of the store waits for less than ranks are late.
Problem impatient(int size, std::vector<Plan> plans) {
  return {.members = whole_world(size), .plans = std::move(plans), .store_timeout_s = 5};
}

void one_late(CaseRunner& runner) {
  for (const int size : {2, 3, 5, 8}) {
    for (const int late : {0, size / 2, size - 1}) {
      checks.ask(runner, impatient(size, {{.late = {{late, 20}}}}));
    }
  }
}

// Written without anything between them, attempt 1 and rank 10 are attempt 11 and rank 0, and rank
// 1 of attempt 11 is rank 11 of attempt 1. In attempt 11 these two come last, one
// after the other.
const Problem two_digits =
    impatient(12, {{.attempt = 1}, {.attempt = 11, .late = {{0, 10}, {1, 20}}}});

void another_attempt(CaseRunner& runner) {
  for (const auto& attempts : std::vector<std::vector<int>>{{0, 1}, {1, 2}, {1, 11, 12}, {3, 4}}) {
    for (const int size : {2, 3, 5, 8}) {
      Problem p = impatient(size, {});
      for (const int attempt : attempts) p.plans.push_back({.attempt = attempt, .apart_s = 2});
      // Later starts are of one rank less, where there are more than two.
      for (std::size_t i = 1; i < p.plans.size(); ++i) p.plans[i].size_max = std::max(2, size - 1);
      checks.ask(runner, p);
    }
  }
}

void missing_ranks(CaseRunner& runner) {
  for (const int size : {2, 3, 5, 8}) {
    std::vector<int> all_but_two = first_ranks(size);
    all_but_two.erase(all_but_two.begin() + 1, all_but_two.begin() + std::min(3, size));
    for (const auto& missing : std::vector<std::vector<int>>{{0}, {size - 1}, all_but_two}) {
      Problem p =
          impatient(size, {{.timeout_s = 12, .missing = missing}, {.attempt = 1, .timeout_s = 50}});
      // The ranks that come arrive one after the other.
      for (int rank = 0; rank < size; ++rank) p.plans.front().late[rank] = rank;
      checks.ask(runner, p);
    }
  }
}

// The last rank comes when the time of the others is over, and before they have asked for its key:
// they may return, or name it.
void just_late(CaseRunner& runner) {
  for (const int size : {2, 3, 5}) {
    for (const double calls : {0.5, 1.5, 2.5}) {
      const std::map<int, double> late{{size - 1, 12 + calls * store_call_s}};
      checks.ask(runner, size, [&](Problem& p) { p.plans = {{.timeout_s = 12, .late = late}}; });
    }
  }
}

void lost_store(Problem& p) {
  p.lost_s = 10;
  p.plans.front().late = {{p.members.size() - 1, 20}};
}

void by_threes(Problem& p) {
  p.plans.front().timeout_s = 40;
  for (int rank = 0; rank < p.members.size(); ++rank) p.plans.front().late[rank] = rank % 3;
}
void one_is_missing(Problem& p) {
  by_threes(p);
  p.plans.front().missing = {p.members.size() - 1};
}

}  // namespace

Exam exam() {
  return {
      {"every rank gets all addresses in rank order, for any order of arrival",
       in_turn(checks.every_size(),
               checks.every_size([](Problem& p) { p.plans.front().apart_s = 0.5; }))},
      {"if one rank is late, the others return when it arrives, not earlier and not without it",
       one_late},
      {"a later attempt on the same store sees no address of an earlier one",
       in_turn(another_attempt, checks.these({two_digits}))},
      {"at the deadline the error names all missing ranks and no others",
       in_turn(missing_ranks, just_late)},
      {"a lost store causes the store's own error, which blames no rank",
       checks.on({2, 5}, lost_store)},
      {"each rank makes at most 2N+2 calls of the store, and no rank polls",
       in_turn(of_calls.on({2, 3, 4, 5, 7, 8}, by_threes),
               of_calls.on({2, 3, 4, 5, 7, 8}, one_is_missing))},
  };
}

}  // namespace lockstep::grader::store_rendezvous
