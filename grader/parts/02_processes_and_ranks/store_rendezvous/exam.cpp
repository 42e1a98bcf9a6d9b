// The exam of store_rendezvous. The judge serves the store, in virtual time: ranks come late by as
// much as it likes, a wait ends at its deadline, and every call is counted.
#include "grader/parts/02_processes_and_ranks/store_rendezvous/case.hpp"

#include <numeric>

#include "grader/judge/keyed.hpp"
#include "grader/parts/02_processes_and_ranks/store_rendezvous/rules.hpp"

namespace lockstep::grader::store_rendezvous {
namespace {

using Ranks = std::vector<MeetingCase>;

// A name, a number, an IPv6 number: each with a port of its own.
comm::Endpoint drawn_address(CaseRunner& runner) {
  const std::uint64_t bits = runner.draw();
  const auto number = static_cast<unsigned>(bits >> 40);
  comm::Endpoint address{text("node-", number), static_cast<int>(1024 + bits % 60000)};
  if (bits % 3 == 1) address.host = text("10.0.", number % 200, ".", number % 251);
  if (bits % 3 == 2) address.host = text("fe80::", number % 9973);
  return address;
}

// One meeting of `size` ranks among all; the caller makes ranks late or missing.
struct Plan {
  int attempt = 0;
  int size = 0;
  double timeout_s = 60;
  std::vector<double> after_s{};
  std::vector<int> missing{};
};

void add_meeting(CaseRunner& runner, Ranks& ranks, const Plan& plan) {
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    Meeting m{.attempt = plan.attempt,
              .size = plan.size,
              .mine = drawn_address(runner),
              .timeout_s = plan.timeout_s};
    if (r < plan.after_s.size()) m.after_s = plan.after_s[r];
    const auto& missing = plan.missing;
    m.comes = std::cmp_less(r, plan.size) &&
              std::find(missing.begin(), missing.end(), static_cast<int>(r)) == missing.end();
    ranks[r].meetings.push_back(std::move(m));
  }
}

Ranks ranks_of(int size, double store_timeout_s = 30) {
  return Ranks(static_cast<std::size_t>(size),
               {.store_timeout_s = store_timeout_s, .meetings = {}});
}

using Rule = void (*)(CaseRunner&, const Played&, const MeetingRun&);

void play(CaseRunner& runner, const std::string& description, const Ranks& ranks, Rule rule,
          double lost_s = sim::Service::forever) {
  LosableStore store(store_call_s, lost_s);
  ReportedService<MeetingReport> meetings({.steps = 100});
  std::int64_t calls = 0;
  for (const MeetingCase& rank : ranks) {
    for (const Meeting& m : rank.meetings) {
      // Two reports, a moment of waiting, and four times the calls that are enough.
      calls += 3 + 4 * static_cast<std::int64_t>(store_calls_max(m.size));
    }
  }
  Situations asked;
  if (ranks.front().meetings.size() > 1) asked.insert(Situation::same_call_twice);
  const auto played = play_served(runner, description, ranks, {&store, &meetings}, calls, asked);
  if (played) rule(runner, *played, {ranks, store.store, meetings, lost_s});
}

void any_order(CaseRunner& runner) {
  for (const int size : rank_counts) {
    for (const double apart_s : {0.0, 0.5}) {
      Plan plan{.size = size};
      for (const std::int64_t place : keyed_order(size, runner.draw())) {
        plan.after_s.push_back(apart_s * static_cast<double>(place));
      }
      Ranks ranks = ranks_of(size);
      add_meeting(runner, ranks, plan);
      play(runner, text(size, size == 1 ? " rank" : " ranks", ", ", apart_s, " s apart"), ranks,
           check_outcomes);
    }
  }
}

void one_late(CaseRunner& runner) {
  for (const int size : {2, 3, 5, 8}) {
    for (const int late : {0, size / 2, size - 1}) {
      Plan plan{.size = size};
      plan.after_s.assign(static_cast<std::size_t>(size), 0);
      plan.after_s[static_cast<std::size_t>(late)] = 20;
      Ranks ranks = ranks_of(size, 5);
      add_meeting(runner, ranks, plan);
      play(runner, text(size, " ranks, rank ", late, " 20 s late, get() waits for 5 s"), ranks,
           check_outcomes);
    }
  }
}

// Written without anything between them, attempt 1 and rank 10 are attempt 11 and rank 0, and rank
// 1 of attempt 11 is rank 11 of attempt 1. In attempt 11 these two come last, one
// after the other.
void two_digits(CaseRunner& runner) {
  constexpr int size = 12;
  Ranks ranks = ranks_of(size, 5);
  for (const int attempt : {1, 11}) {
    Plan plan{.attempt = attempt, .size = size};
    for (int r = 0; r < size; ++r)
      plan.after_s.push_back(attempt == 11 && r < 2 ? 10 * (r + 1) : 1);
    add_meeting(runner, ranks, plan);
  }
  play(runner, "12 ranks, attempts 1 and 11", ranks, check_outcomes);
}

void another_attempt(CaseRunner& runner) {
  for (const auto& attempts : std::vector<std::vector<int>>{{0, 1}, {1, 2}, {1, 11, 12}, {3, 4}}) {
    for (const int size : {2, 3, 5, 8}) {
      Ranks ranks = ranks_of(size, 5);
      // The second start is of one rank less, where there are more than two.
      int now = size;
      std::string description = text(size, " ranks, attempts");
      for (const int attempt : attempts) {
        Plan plan{.attempt = attempt, .size = now};
        for (const std::int64_t place : keyed_order(now, runner.draw())) {
          plan.after_s.push_back(2.0 * static_cast<double>(place));
        }
        add_meeting(runner, ranks, plan);
        description += text(" ", attempt);
        now = std::max(2, size - 1);
      }
      play(runner, description, ranks, check_outcomes);
    }
  }
  two_digits(runner);
}

void lost_store(CaseRunner& runner) {
  for (const int size : {2, 5}) {
    Plan plan{.size = size};
    for (int r = 0; r < size; ++r) plan.after_s.push_back(r == size - 1 ? 20 : 0);
    Ranks ranks = ranks_of(size);
    add_meeting(runner, ranks, plan);
    play(runner, text(size, " ranks, the store is lost at 10 s"), ranks, check_outcomes, 10);
  }
}

void missing_ranks(CaseRunner& runner) {
  for (const int size : {2, 3, 5, 8}) {
    std::vector<int> all_but_two(static_cast<std::size_t>(size));
    std::iota(all_but_two.begin(), all_but_two.end(), 0);
    all_but_two.erase(all_but_two.begin() + 1, all_but_two.begin() + std::min(3, size));
    for (const auto& missing : std::vector<std::vector<int>>{{0}, {size - 1}, all_but_two}) {
      Plan plan{.size = size, .timeout_s = 12, .missing = missing};
      // The ranks that come arrive one after the other.
      for (int r = 0; r < size; ++r) plan.after_s.push_back(r);
      Ranks ranks = ranks_of(size, 5);
      add_meeting(runner, ranks, plan);
      Plan again{.attempt = 1, .size = size, .timeout_s = 50};
      add_meeting(runner, ranks, again);
      play(runner, text(size, " ranks, ", missing.size(), " missing, then a second attempt"), ranks,
           check_outcomes);
    }
  }
}

// The last rank comes when the time of the others is over, and before they have asked for its key:
// they may return, or name it.
void just_late(CaseRunner& runner) {
  for (const int size : {2, 3, 5}) {
    for (const double late_calls : {0.5, 1.5, 2.5}) {
      Plan plan{.size = size, .timeout_s = 12};
      plan.after_s.assign(static_cast<std::size_t>(size), 0);
      plan.after_s.back() = plan.timeout_s + late_calls * store_call_s;
      Ranks ranks = ranks_of(size);
      add_meeting(runner, ranks, plan);
      play(runner, text(size, " ranks, the last one just after the deadline"), ranks,
           check_outcomes);
    }
  }
}

// From two ranks on: alone, one call more is no harm.
void few_calls(CaseRunner& runner) {
  for (const int size : {2, 3, 4, 5, 7, 8}) {
    for (const bool one_missing : {false, true}) {
      Plan plan{.size = size, .timeout_s = 40};
      for (int r = 0; r < size; ++r) plan.after_s.push_back(r % 3);
      if (one_missing) plan.missing = {size - 1};
      Ranks ranks = ranks_of(size);
      add_meeting(runner, ranks, plan);
      play(runner, text(size, " ranks", one_missing ? ", one missing" : ""), ranks,
           [](CaseRunner& at, const Played& played, const MeetingRun& run) {
             check_outcomes(at, played, run);
             check_calls(at, played, run);
           });
    }
  }
}

}  // namespace

Exam exam() {
  return {
      {"every rank gets all addresses in rank order, for any order of arrival", any_order},
      {"if one rank is late, the others return when it arrives, not earlier and not without it",
       one_late},
      {"a later attempt on the same store sees no address of an earlier one", another_attempt},
      {"at the deadline the error names all missing ranks and no others",
       [](CaseRunner& runner) {
         missing_ranks(runner);
         just_late(runner);
       }},
      {"a lost store causes the store's own error, which blames no rank", lost_store},
      {"each rank makes at most 2N+2 calls of the store, and no rank polls", few_calls},
  };
}

}  // namespace lockstep::grader::store_rendezvous
