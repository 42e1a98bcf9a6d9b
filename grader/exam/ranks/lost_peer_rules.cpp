#include "grader/exam/ranks/lost_peer_rules.hpp"

#include <algorithm>
#include <utility>

#include "grader/exam/function/wrong_ending.hpp"

namespace lockstep::grader {

std::optional<Failure> failure_of(const LostPeerEnding& seen, int rank, const Results& results) {
  const bool threw = seen.ending.kind == Ending::Kind::threw_expected;
  if (threw && results.any_killed()) return std::nullopt;
  Failure failure;
  failure.where = text("rank ", rank);
  if (threw) {
    failure.cause = "nobody_lost";
    failure.seen = thrown_text(seen.ending);
    failure.expected = "a normal return";
    failure.message = text("rank ", rank, " threw ", failure.seen,
                           ", but no rank was lost: every rank ended before the judge could kill "
                           "it; likely cause: the part throws instead of communicating");
    return failure;
  }
  if (seen.ending.kind == Ending::Kind::threw_other) {
    failure.cause = "wrong_error";
    failure.seen = thrown_text(seen.ending);
    failure.thrown_at = seen.ending.thrown_at;
    failure.expected = "a CommError";
    failure.message =
        text("rank ", rank, " threw ", failure.seen, " when a peer was lost",
             seen.failed.empty() ? std::string() : text(" (", seen.failed, ")"),
             ", where CommError was expected; likely cause: the part catches the CommError and "
             "throws another type; callers recognize a lost peer by CommError");
    return failure;
  }
  if (seen.failed.empty()) return std::nullopt;
  failure.cause = "peer_lost";
  failure.seen = "a normal return";
  failure.expected = "a CommError";
  failure.message =
      text("rank ", rank, " returned normally, though one of its calls failed: ", seen.failed,
           "; likely cause: the CommError of that call is caught. Let it leave the part, so that "
           "no caller mistakes a partial result for a complete one");
  return failure;
}

std::optional<Played> play_with_a_death(CaseRunner& runner, const CaseSetup& setup) {
  try {
    return runner.play(setup);
  } catch (Failure& failure) {
    if (failure.verdict == Verdict::rank_exited) {
      failure.verdict = Verdict::wrong_answer;
      failure.cause = "peer_lost";
      failure.message =
          text("the judge killed a rank, and the other ranks did not end with CommError: ",
               failure.message);
    }
    throw;
  }
}

namespace {

// A rank that makes few requests ends before it is killed, which is no fault; but then the others
// have met it.
void require_meeting(CaseRunner& runner, const Played& played) {
  const sim::Counters& counters = played.counters;
  if (played.results->any_killed() || !counters.collectives.empty() || !counters.messages.empty()) {
    return;
  }
  Failure failure;
  failure.cause = "no_communication";
  failure.seen = "no message and no collective";
  failure.expected = "messages or collectives";
  failure.message =
      "no rank sent a message or took part in a collective, so that none could be lost; likely "
      "cause: the part returns before it communicates";
  runner.fail(played, std::move(failure));
}

}  // namespace

void check_lost_peer(CaseRunner& runner, CaseSetup setup, const Death& death,
                     const CheckKept& check_kept) {
  setup.description += text(", rank ", death.rank, " dies at its request ", death.at_request);
  setup.faults.kills.push_back({.rank = death.rank, .at_call = death.at_request});
  const auto played = play_with_a_death(runner, setup);
  if (!played) return;
  require_meeting(runner, *played);
  for (int other = 0; std::cmp_less(other, played->results->size()); ++other) {
    if (played->results->killed(other)) continue;
    const LostPeerEnding seen = read_fields<LostPeerEnding>(played->results->of(other));
    if (auto failure = failure_of(seen, other, *played->results)) {
      runner.fail(*played, std::move(*failure));
    }
    if (check_kept && !seen.kept.empty()) check_kept(*played, other, seen.kept);
  }
}

std::vector<std::int64_t> requests_to_die_at(std::int64_t requests, int most) {
  const std::int64_t chosen = std::min<std::int64_t>(requests, most), last = chosen / 2;
  const std::int64_t between = std::max<std::int64_t>(chosen - 2 - last, 0);
  std::vector<std::int64_t> all;
  for (std::int64_t k = 0; k < chosen; ++k) {
    const bool early = requests <= most || k < 2;
    if (early) {
      all.push_back(k + 1);
    } else if (k >= chosen - last) {
      all.push_back(requests - (chosen - 1 - k));
    } else {
      all.push_back(2 + (k - 1) * (requests - last - 2) / (between + 1));
    }
  }
  return all;
}

void at_each_request(CaseRunner& runner, const EachRequest& asked) {
  std::vector<std::pair<int, std::int64_t>> places;
  int next_problem = 0;
  const auto place = [&](int number) {
    while (std::cmp_less_equal(places.size(), number)) {
      const int which = next_problem++ % asked.problems;
      for (const auto at : requests_to_die_at(asked.requests_of(which), asked.requests_max)) {
        places.emplace_back(which, at);
      }
      places.emplace_back(which, 0);
    }
    return places[static_cast<std::size_t>(number)];
  };
  for (int number = 0; number < asked.cases; ++number) {
    if (!runner.plays_next()) {
      runner.pass_over();
      continue;
    }
    const auto [problem, request] = place(number);
    asked.judge(problem, request);
  }
}

}  // namespace lockstep::grader
