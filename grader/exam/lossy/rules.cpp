#include "grader/exam/lossy/rules.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <sstream>

#include "grader/exam/function/wrong_ending.hpp"
#include "grader/exam/lossy/causes.hpp"
#include "grader/exam/ranks/traffic.hpp"
#include "grader/judge/compare.hpp"

namespace lockstep::grader {
namespace {

// Virtual time is a sum of a few doubles of some 1e-5 s.
constexpr double moment_s = 1e-12;

// Finds the first wrong element. If only the lengths differ, it is the end of the shorter one.
std::optional<std::size_t> first_wrong(const Numbers& seen, const Right& right) {
  const std::size_t common = std::min(seen.size(), right.values.size());
  for (std::size_t i = 0; i < common; ++i) {
    if (!is_close(seen[i], right.values[i], tolerance_at(right, i))) return i;
  }
  if (seen.size() != right.values.size()) return common;
  return std::nullopt;
}

std::string shortly(double value) {
  if (std::isnan(value)) return "NaN";
  std::ostringstream out;
  out.precision(2);
  out << value;
  return out.str();
}

std::string of_call(const LossySeen& seen, std::size_t call) {
  return seen.calls() > 1 ? text(" of call ", call + 1) : "";
}

void require_right(CaseRunner& runner, const Played& played, const std::string& what, int rank,
                   DType dtype, const Numbers& seen, const Right& right,
                   const std::vector<Term>& terms) {
  const auto at = first_wrong(seen, right);
  if (!at) return;
  const auto wanted = number_at(right.values, *at, dtype), shown = number_at(seen, *at, dtype);
  const bool rounds = *at < right.values.size() && tolerance_at(right, *at) > 0;
  std::string message = text("element ", *at, " of the ", what, " is ", shown, " on rank ", rank,
                             " where ", right.name, " is ", wanted);
  if (rounds) {
    message += text(" (", right.allowed, ": up to ", shortly(tolerance_at(right, *at)), ")");
  }
  runner.fail(played, because(cause_of(seen, right, terms),
                              {.message = message,
                               .expected = wanted,
                               .seen = shown,
                               .where = text("rank ", rank, ", ", what, ", element ", *at)}));
}

// The collectives that a rank began in a call, without barriers.
std::vector<const sim::CollectiveRecord*> begun_in(const Played& played, int rank, double from_s,
                                                   double to_s) {
  std::vector<const sim::CollectiveRecord*> found;
  for (const auto& record : played.counters.collectives) {
    if (std::cmp_greater_equal(rank, record.entered_s.size())) continue;
    const double entered_s = record.entered_s[static_cast<std::size_t>(rank)];
    if (from_s - moment_s <= entered_s && entered_s <= to_s + moment_s) found.push_back(&record);
  }
  return found;
}

Failure late(std::string cause, std::string message, int rank) {
  return {.verdict = Verdict::efficiency,
          .cause = std::move(cause),
          .message = std::move(message),
          .where = text("rank ", rank)};
}

}  // namespace

std::optional<sim::Service::Answer> LossyNotes::serve(const sim::Actor& who,
                                                      const sim::Request& request, double now) {
  auto answer = notes_.serve(who, request, now);
  const auto note = fields_from_bytes<LossyNote>(request.data.bytes);
  if (note.kind != LossyNote::Kind::returned) return answer;
  Next next = next_of_(who.rank, note.step);
  const NextGradient given{std::move(next.gradient)};
  return Answer{sim::payload_of(fields_to_bytes(given)), now + next.gap_s};
}

void ask_of(const Numbers& values, DType dtype, Situations& asked) {
  ask_of_values(values, asked);
  const double normal = dtype == DType::float64 ? 0x1p-1022 : 0x1p-126;
  for (const double value : values) {
    if (value != 0 && std::fabs(value) < normal) asked.insert(Situation::subnormal);
  }
}

const Numbers& LossySeen::state_before(std::size_t call, int rank) const {
  const auto r = static_cast<std::size_t>(rank);
  const std::size_t bucket = call % kept.size();
  return call < kept.size() ? kept[bucket][r] : states[call - kept.size()][r];
}

namespace {

// True if ranks differ only where one of them owns a part, has its sum as it was before it was
// rounded, and all others have the same.
bool keeps_its_sum(const std::vector<Numbers>& of_ranks, const Right& right, DType dtype) {
  if (right.unrounded.empty()) return false;
  const double digits = 1e-6 + 2 * epsilon_of(dtype);
  for (std::size_t i = 0; i < right.unrounded.size(); ++i) {
    const auto owner = i / static_cast<std::size_t>(right.part);
    const double other = of_ranks[owner == 0 ? 1 : 0][i], own = of_ranks[owner][i];
    for (std::size_t r = 0; r < of_ranks.size(); ++r) {
      if (r != owner && of_ranks[r][i] != other) return false;
    }
    const double sum = right.unrounded[i];
    if (own != other && !is_close(own, sum, digits * std::fabs(sum))) return false;
  }
  return true;
}

Cause why_bits_differ(const std::vector<Numbers>& of_ranks, std::size_t at, const Right& right,
                      DType dtype) {
  if (keeps_its_sum(of_ranks, right, dtype)) {
    const auto owner = at / static_cast<std::size_t>(right.part);
    return {"own_part_not_decoded",
            text("rank ", owner, " keeps the sum of its own part, and all others decode the codes ",
                 "of it that it sent; it must decode its own codes, too")};
  }
  return {"bits_differ",
          "each rank rounds for itself, so the replicas drift apart; all ranks must convert the "
          "same received bytes"};
}

}  // namespace

void check_result(CaseRunner& runner, const Played& played, const LossySeen& seen, std::size_t call,
                  const Right& right) {
  const auto& of_ranks = seen.results[call];
  for (int rank = 0; rank < seen.ranks(); ++rank) {
    const Numbers& mine = of_ranks[static_cast<std::size_t>(rank)];
    require_right(runner, played, text("result", of_call(seen, call)), rank, seen.dtype, mine,
                  right, terms_of(seen, call, right));
    const auto at = first_other_bits(mine, of_ranks.front());
    if (!at || (std::isnan(mine[*at]) && std::isnan(of_ranks.front()[*at]))) continue;
    runner.fail(played,
                because(why_bits_differ(of_ranks, *at, right, seen.dtype),
                        {.message = text("element ", *at, " of the result", of_call(seen, call),
                                         " is within its tolerance, but differs between ranks 0 "
                                         "and ",
                                         rank),
                         .expected = number(of_ranks.front()[*at]),
                         .seen = number(mine[*at]),
                         .where = text("rank ", rank, ", element ", *at)}));
  }
}

void check_state(CaseRunner& runner, const Played& played, const LossySeen& seen, std::size_t call,
                 int rank, const Right& right) {
  for (std::size_t i = 0; i < std::min(right.tolerance.size(), right.judged_elsewhere); ++i) {
    if (std::isinf(right.tolerance[i])) throw Error("no rule judges an element of a state");
  }
  require_right(runner, played, text("residual after call ", call + 1), rank, seen.dtype,
                seen.states[call][static_cast<std::size_t>(rank)], right,
                terms_of(seen, call, right));
}

void check_state_at_return(CaseRunner& runner, const Played& played, const LossySeen& seen,
                           std::size_t call, int rank, const Right& right) {
  check_state(runner, played, seen, call, rank, right);
  const Numbers& early = seen.returned[call][static_cast<std::size_t>(rank)];
  const auto at = first_wrong(early, right);
  if (!at) return;
  const auto wanted = number_at(right.values, *at, seen.dtype);
  const auto shown = number_at(early, *at, seen.dtype);
  runner.fail(played,
              because({"state_changes_late",
                       "the residual is right after wait(), and must be so when the function "
                       "returns: change it there, not in what is given to `then`"},
                      {.message = text("element ", *at, " of the residual is ", shown, " on rank ",
                                       rank, " when call ", call + 1, " returns, where ",
                                       right.name, " is ", wanted),
                       .expected = wanted,
                       .seen = shown,
                       .where = text("rank ", rank, ", residual when call ", call + 1,
                                     " returns, element ", *at)}));
}

std::vector<Mistake<Numbers>> mistakes_of_mean(const LossySeen& seen, std::size_t call,
                                               const Numbers& mean) {
  std::vector<Mistake<Numbers>> usual;
  const double n = seen.ranks();
  if (n == 1 || mean.empty()) return usual;
  const auto scaled = [](Numbers values, double factor) {
    for (double& value : values) value *= factor;
    return values;
  };
  usual.push_back(
      {{"summed_not_averaged", text("it is ", n, " times too large: summed, not averaged")},
       scaled(mean, n)});
  usual.push_back({{"divided_twice", text("it is ", n, " times too small: divided twice")},
                   scaled(mean, 1 / n)});
  for (std::size_t r = 0; r < seen.gradients[call].size(); ++r) {
    const Numbers& own = seen.gradients[call][r];
    usual.push_back({{"not_reduced", text("it is rank ", r,
                                          "'s own gradient: nothing was added to it, or the "
                                          "result was not brought back")},
                     own});
    usual.push_back({{"divided_only", text("it is rank ", r,
                                           "'s own gradient divided by N: no other rank's was "
                                           "added, or the result was not brought back")},
                     scaled(own, 1 / n)});
  }
  if (call > 0) {
    usual.push_back(
        {{"stale", "it is the result of the call before"}, seen.results[call - 1].front()});
  }
  return usual;
}

void check_nothing_lost(CaseRunner& runner, const Played& played, const LossySeen& seen,
                        double tolerance, const std::string& allowed) {
  const std::size_t buckets = seen.kept.size(), count = seen.gradients.front().front().size();
  for (std::size_t bucket = 0; bucket < buckets; ++bucket) {
    for (std::size_t i = 0; i < count; ++i) {
      double came = 0, sent = 0, left = 0;
      for (int rank = 0; rank < seen.ranks(); ++rank) {
        const auto r = static_cast<std::size_t>(rank);
        came += seen.kept[bucket][r][i];
        std::size_t last = bucket;
        for (std::size_t call = bucket; call < seen.calls(); call += buckets) {
          came += seen.gradients[call][r].at(i);
          sent += seen.results[call][r].at(i);  // N ranks hold the mean: the sum
          last = call;
        }
        left += seen.states[last][r].at(i);
      }
      if (std::fabs(sent + left - came) <= tolerance) continue;
      Cause cause{"lost",
                  "what does not travel must stay in the residual, and what travels must "
                  "leave it, on each rank by itself"};
      if (std::fabs(sent + left) > std::fabs(came)) cause.name = "counted_twice";
      const auto gradients = text("element ", i, " over ", seen.calls() / buckets, " calls");
      runner.fail(played,
                  because(cause, {.message = text(gradients, ": ", number(came), " came in, ",
                                                  number(sent), " was sent and ", number(left),
                                                  " is left; sent and left must add up to what "
                                                  "came in (",
                                                  allowed, ")"),
                                  .expected = number(came),
                                  .seen = number(sent + left),
                                  .where = text("element ", i)}));
    }
  }
}

void check_wire(CaseRunner& runner, const Played& played, const LossySeen& seen, const Wire& wire) {
  const double sent = busiest_rank_bytes(played.counters) / static_cast<double>(seen.calls());
  runner.note_par("bytes", sent, wire.bytes, played);
  const auto usually = [](const std::string& what) { return what.empty() ? "" : "; " + what; };
  const std::string message =
      text("the result is right, but a rank sends ", whole_bytes(sent), " bytes a call where ",
           wire.formula, " are ", whole_bytes(wire.bytes), "; likely cause: ");
  if (sent > 1.01 * wire.bytes) {
    runner.fail(played, wasteful("too_many_bytes", sent, wire.bytes, "per rank",
                                 text(message, "something larger travels", usually(wire.more))));
  }
  if (sent < 0.99 * wire.bytes) {
    runner.fail(played, wasteful("too_few_bytes", sent, wire.bytes, "per rank",
                                 text(message, "something is left out", usually(wire.less))));
  }
  check_operations(runner, played,
                   {.collectives = wire.collectives * std::ssize(seen.gradients),
                    .allowed = text(wire.made_of, " for each of ", seen.calls(), " calls")});
}

namespace {

bool says(const Failure& found, std::string_view what) {
  return found.message.find(what) != std::string::npos;
}

// A use of memory that is gone can end in these signals (a division by zero is none of them), in a
// handle that holds nothing, or in an overwritten line to the lab.
bool may_dangle(const Failure& found) {
  if (found.cause == "undefined_tensor" || says(found, " that is not a frame")) return true;
  return std::ranges::any_of(std::array{"SIGSEGV", "SIGBUS", "SIGABRT"}, [&](const char* signal) {
    return says(found, text(" crashed: ", signal));
  });
}

}  // namespace

void explain_crash(Failure& found, int calls, const LossyNotes& notes) {
  tell_wrong_size(found);
  const bool told_where = says(found, " crashed: ") || may_dangle(found);
  if (found.verdict != Verdict::crash || !told_where || found.ranks.size() != 1) return;
  for (int call = 1; call <= calls; ++call) {
    const auto& told = notes.told(static_cast<std::uint32_t>(call), found.ranks.front());
    if (told.size() != 2) continue;  // called and returned, but not waited for
    found.where += text(found.where.empty() ? "" : ", ", "in wait()",
                        calls > 1 ? text(" of call ", call) : "");
    if (!may_dangle(found)) return;
    const Cause cause{found.cause,
                      "it crashed in wait(), when the function had returned: what is given to "
                      "`then` runs there, and a reference to a local variable, as [&] captures it, "
                      "is dangling by then; capture by value what it needs"};
    found.message.resize(std::min(found.message.size(), found.message.find("; was fd 3 ")));
    found = because_instead(cause, std::move(found));
    return;
  }
}

void check_in_flight(CaseRunner& runner, const Played& played, const LossySeen& seen,
                     const LossyNotes& notes) {
  for (int rank = 0; rank < seen.ranks(); ++rank) {
    const int world_rank = seen.members.ranks[static_cast<std::size_t>(rank)];
    for (std::size_t call = 0; call < seen.calls(); ++call) {
      const auto& told = notes.told(static_cast<std::uint32_t>(call + 1), world_rank);
      const double called_s = told[0].at_s, returned_s = told[1].at_s;
      if (returned_s > called_s + moment_s) {
        runner.fail(
            played,
            because({"waits_in_the_call",
                     "a blocking collective, or a wait() before the function returns; start "
                     "the collective, and leave the rest to the Work's wait()"},
                    late("waits_in_the_call",
                         text("the result is right, but rank ", rank, " waits ",
                              shortly((returned_s - called_s) * 1e6),
                              " µs inside the function, while backward stands still"),
                         rank)));
      }
      if (!begun_in(played, rank, called_s, returned_s).empty()) continue;
      runner.fail(played,
                  because({"starts_late",
                           "the first collective is started in wait(), when nothing is left to "
                           "overlap with"},
                          late("starts_late",
                               text("the result is right, but when the function returns on rank ",
                                    rank, ", no collective of it has begun"),
                               rank)));
    }
  }
}

}  // namespace lockstep::grader
