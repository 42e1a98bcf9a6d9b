#include "grader/exam/driven/overlap.hpp"

#include <algorithm>
#include <cmath>

#include "engine/base/units.hpp"
#include "grader/exam/ranks/traffic.hpp"
#include "grader/judge/compare.hpp"

namespace lockstep::grader {
namespace {

using Kind = DrivenEvent::Kind;
using Note = ScriptService::Note;
using sim::CollectiveRecord;

// Virtual time is a sum of a few doubles of some 1e-5 s.
constexpr double instant_s = 1e-12;

std::string microseconds(double seconds) {
  return text(number(std::round(seconds * 1e8) / 1e2), " µs");
}

// Not how long something took, but when it happened.
std::string moment(double seconds) {
  return text("at ", microseconds(seconds), " of the simulated run");
}

// When the last of these gradients was final on a rank.
double needs_there_s(const DrivenRun& run, int rank, std::size_t pass,
                     const AwaitedCollective& awaited) {
  double there_s = 0;
  for (const std::size_t i : awaited.needs) {
    there_s = std::max(there_s, note_of(run, rank, pass, Kind::ready, i).given_s);
  }
  return there_s;
}

Failure late(std::string cause, std::string message, double expected_s, double seen_s) {
  return {.verdict = Verdict::efficiency,
          .cause = std::move(cause),
          .message = std::move(message),
          .expected = moment(expected_s),
          .seen = moment(seen_s)};
}

void check_collectives(CaseRunner& runner, const Played& played, const DrivenRun& run,
                       const std::vector<AwaitedCollective>& awaited) {
  std::vector<std::int64_t> wanted;
  for (const AwaitedCollective& one : awaited) wanted.push_back(one.bytes);
  for (std::size_t p = 0; p < run.script.passes.size(); ++p) {
    std::vector<std::int64_t> seen;
    for (const CollectiveRecord* record : collectives_of_pass(played, run, p)) {
      seen.push_back(record->bytes);
    }
    if (seen == wanted) continue;
    Failure failure{.expected = text("collectives of ", listed(wanted), " bytes"),
                    .seen = text("collectives of ", listed(seen), " bytes")};
    const std::string lead = text("the gradients are right, but", in_pass(run, p));
    if (std::ranges::is_permutation(seen, wanted)) {
      failure.message = text(lead, " the buckets are reduced in another order than the plan's");
      runner.fail(played,
                  because({"bucket_order",
                           "a bucket that is full before its turn waits for those before it"},
                          failure));
    }
    failure.verdict = Verdict::efficiency;
    failure.message = text(lead, seen.size() == 1 ? " there is " : " there are ",
                           counted(std::ssize(seen), "collective"), " where the plan has ",
                           counted(std::ssize(wanted), "bucket"));
    const bool fewer = seen.size() < wanted.size();
    runner.fail(played,
                because(fewer ? Cause{"merged",
                                      "gradients of several buckets travel together, and the first "
                                      "of them wait for the last"}
                              : Cause{"too_many_collectives",
                                      "each bucket is reduced once, and nothing else is"},
                        failure));
  }
}

double entered_s(const CollectiveRecord& record, int rank) {
  return record.entered_s[static_cast<std::size_t>(rank)];
}

void check_waiting(CaseRunner& runner, const Played& played, const DrivenRun& run,
                   InFlight in_flight) {
  const std::size_t passes = run.script.passes.size();
  for (std::size_t p = 0; p < passes; ++p) {
    const auto collectives = collectives_of_pass(played, run, p);
    for (int rank = 0; rank < run.ranks(); ++rank) {
      for (const Note& note : run.events.notes(rank)) {
        if (note.scripted.pass != p || note.scripted.event.kind != Kind::ready) continue;
        const double back_s = next_asked_s(run, rank, note);
        double may_s = note.given_s;
        for (std::size_t b = 1; in_flight == InFlight::one && b < collectives.size(); ++b) {
          const double began_s = entered_s(*collectives[b], rank);
          const bool here = began_s >= note.given_s && began_s <= back_s;
          if (here) may_s = std::max(may_s, collectives[b - 1]->done_s);
        }
        if (back_s <= may_s + instant_s) continue;
        Failure failure =
            late("waits_in_the_hook",
                 text("the gradients are right, but", in_pass(run, p), " rank ", rank, " waits ",
                      microseconds(back_s - may_s), " in on_gradient_ready of parameter ",
                      note.scripted.event.parameter, ", while backward stands still"),
                 may_s, back_s);
        failure.where = text("rank ", rank, ", parameter ", note.scripted.event.parameter);
        runner.fail(played, because({"waits_in_the_hook",
                                     in_flight == InFlight::one
                                         ? "the hook waits for the bucket that it started. Keep "
                                           "its Work, and wait when the next bucket starts, or in "
                                           "finalize"
                                         : "start the reduction, keep its Work, and wait in "
                                           "finalize"},
                                    failure));
      }
    }
  }
}

void check_starts(CaseRunner& runner, const Played& played, const DrivenRun& run,
                  const std::vector<AwaitedCollective>& awaited, InFlight in_flight) {
  for (std::size_t p = 0; p < run.script.passes.size(); ++p) {
    const auto collectives = collectives_of_pass(played, run, p);
    for (int rank = 0; rank < run.ranks(); ++rank) {
      double there_s = 0;
      for (std::size_t b = 0; b < awaited.size(); ++b) {
        there_s = std::max(there_s, needs_there_s(run, rank, p, awaited[b]));
        const double began_s = entered_s(*collectives[b], rank);
        if (in_flight == InFlight::one && b > 0) {
          const double over_s = collectives[b - 1]->done_s;
          if (began_s < over_s - instant_s) {
            Failure failure =
                late("two_in_flight",
                     text("the gradients are right, but", in_pass(run, p), " rank ", rank,
                          " starts bucket ", b, " while bucket ", b - 1,
                          " is still in flight, for ", microseconds(over_s - began_s), " more"),
                     over_s, began_s);
            failure.where = text("rank ", rank, ", bucket ", b);
            runner.fail(played, because({"two_in_flight",
                                         "end the bucket before it first: wait for its Work, then "
                                         "start the next"},
                                        failure));
          }
          there_s = std::max(there_s, over_s);
        }
        if (began_s <= there_s + instant_s) continue;
        const bool at_the_end = began_s >= note_of(run, rank, p, Kind::finalize).given_s;
        Failure failure =
            late("starts_late",
                 text("the gradients are right, but", in_pass(run, p), " rank ", rank,
                      " starts to reduce bucket ", b, " ", microseconds(began_s - there_s),
                      " after the last gradient that it needs was there, when it had asked for "
                      "others"),
                 there_s, began_s);
        failure.where = text("rank ", rank, ", bucket ", b);
        runner.fail(played,
                    because({"starts_late",
                             at_the_end && b == 0
                                 ? "buckets are started in finalize, when nothing is left to "
                                   "overlap with; start each one in on_gradient_ready"
                                 : "when a bucket is started, those behind it that are full "
                                   "already must follow at once"},
                            failure));
      }
    }
  }
}

void check_finalize(CaseRunner& runner, const Played& played, const DrivenRun& run) {
  const std::size_t passes = run.script.passes.size();
  for (std::size_t p = 0; p < passes; ++p) {
    const auto collectives = collectives_of_pass(played, run, p);
    const double done_s = collectives.empty() ? 0 : collectives.back()->done_s;
    for (int rank = 0; rank < run.ranks(); ++rank) {
      const Note& end = note_of(run, rank, p, Kind::finalize);
      const double best_s = std::max(end.given_s, done_s), seen_s = next_asked_s(run, rank, end);
      const double began_s = first_of_pass(run, rank, p).asked_s;
      runner.note_par("time", seen_s - began_s, best_s - began_s, played);
      if (seen_s <= best_s + instant_s) continue;
      runner.fail(
          played,
          late("too_slow",
               text("the gradients are right, but", in_pass(run, p), " rank ", rank,
                    " leaves finalize ", microseconds(seen_s - best_s),
                    " after the last reduction was over; likely cause: finalize talks to the "
                    "other ranks; it only has to wait"),
               best_s, seen_s));
    }
  }
}

}  // namespace

void check_overlap(CaseRunner& runner, const Played& played, const DrivenRun& run,
                   const std::vector<AwaitedCollective>& awaited, InFlight in_flight) {
  check_collectives(runner, played, run, awaited);
  if (in_flight == InFlight::several) {
    const auto passes = static_cast<double>(run.script.passes.size());
    runner.note_par("bytes", busiest_rank_bytes(played.counters),
                    passes * ring_bytes(run.script.plan().bytes(), run.ranks()), played);
  }
  check_waiting(runner, played, run, in_flight);
  check_starts(runner, played, run, awaited, in_flight);
  check_finalize(runner, played, run);
}

}  // namespace lockstep::grader
