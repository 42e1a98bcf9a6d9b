// When gradients are handed over, and what is waited for: see rules.hpp, check_hand_over.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "grader/exam/ranks/traffic.hpp"
#include "grader/judge/compare.hpp"
#include "grader/parts/08_horovod/distributed_optimizer/rules.hpp"

namespace lockstep::grader::distributed_optimizer {
namespace {

using Note = TrainingService::Note;
using sim::Collective;
using sim::CollectiveRecord;

// Virtual time is a sum of a few doubles of some 1e-5 s.
constexpr double instant_s = 1e-12;

std::string microseconds(double seconds) {
  return text(number(std::round(seconds * 1e8) / 1e2), " µs");
}

std::string in_step(const OptimizerProblem& p, std::size_t step) {
  return p.training.steps.size() > 1 ? text(" in step ", step + 1) : "";
}

// One rank's step.
struct RankStep {
  const OptimizerProblem& problem;
  const TrainingService& events;
  std::size_t step;
  int rank;
  std::vector<Note> notes = events.notes_of_step(rank, step);

  double began_s() const { return notes.front().asked_s; }
  // The event with which the rank begins to wait for its gradients.
  const Note& waits() const {
    return *std::ranges::find_if(notes, [](const Note& note) {
      const Kind kind = note.scripted.event.kind;
      return kind == Kind::step || kind == Kind::synchronize;
    });
  }
  double went_on_s() const { return events.next_asked_s(rank, waits()); }
  std::string where() const { return text("rank ", rank); }
};

Failure too_late(const RankStep& at, std::string message, double expected_s, double seen_s) {
  return {.verdict = Verdict::efficiency,
          .message = std::move(message),
          .expected = microseconds(expected_s - at.began_s()),
          .seen = microseconds(seen_s - at.began_s()),
          .where = at.where()};
}

void check_no_waiting(CaseRunner& runner, const Played& played, const RankStep& at) {
  for (const Note& note : at.notes) {
    if (note.scripted.event.kind != Kind::gradient) continue;
    const double back_s = at.events.next_asked_s(at.rank, note);
    if (back_s <= note.given_s + instant_s) continue;
    runner.fail(
        played,
        because({"waits_in_the_hook",
                 "hand the gradient over, and wait for all of them in synchronize()"},
                too_late(at,
                         text("the gradients are right, but", in_step(at.problem, at.step),
                              " rank ", at.rank, " waits ", microseconds(back_s - note.given_s),
                              " in the hook of parameter ", note.scripted.event.parameter,
                              ", while backward stands still"),
                         note.given_s, back_s)));
  }
}

// When the strand of a rank began a round of negotiation in a step, and when it was done with it.
struct StrandRound {
  double began_s = 0, done_s = 0;
};
std::vector<StrandRound> rounds_of(const Played& played, const RankStep& at) {
  std::vector<StrandRound> rounds;
  for (const CollectiveRecord& record : played.counters.collectives) {
    if (std::ssize(record.entered_s) != at.problem.members.size()) continue;
    const double entered_s = record.entered_s[static_cast<std::size_t>(at.rank)];
    if (entered_s < at.began_s() || entered_s > at.went_on_s()) continue;
    if (record.kind == Collective::gather) rounds.push_back({entered_s, record.done_s});
    if (!rounds.empty()) rounds.back().done_s = std::max(rounds.back().done_s, record.done_s);
  }
  return rounds;
}

// A rank with nothing but rounds that it joins because others began them is never late: a round
// that begins before a gradient is final does not have it, and the next one begins when it is.
void check_rounds(CaseRunner& runner, const Played& played, const RankStep& at) {
  const int passes = at.problem.training.steps[at.step].passes;
  const auto rounds = rounds_of(played, at);
  double free_s = 0, taken_until_s = -1;
  for (std::size_t k = 0; k <= rounds.size(); ++k) {
    const Note* first = nullptr;  // the first gradient that no round has taken
    for (const Note& note : at.notes) {
      const bool is_last_pass =
          note.scripted.event.kind == Kind::gradient && note.scripted.pass + 1 == passes;
      if (is_last_pass && note.given_s > taken_until_s + instant_s) {
        first = &note;
        break;
      }
    }
    if (first == nullptr) return;
    const double due_s = std::max(free_s, first->given_s);
    const double began_s =
        k < rounds.size() ? rounds[k].began_s : std::numeric_limits<double>::infinity();
    if (began_s > due_s + instant_s) {
      const bool in_step_itself = began_s >= at.waits().given_s - instant_s;
      runner.fail(
          played,
          because(
              in_step_itself
                  ? Cause{"handed_over_in_step",
                          "gradients are handed over when backward is over, and nothing is left "
                          "to overlap with; hand each one over in its hook"}
                  : Cause{"handed_over_late",
                          "a gradient that is final is not handed over in its own hook"},
              too_late(at,
                       text("the gradients are right, but", in_step(at.problem, at.step),
                            " the strand of rank ", at.rank,
                            " is idle although the gradient of "
                            "parameter ",
                            first->scripted.event.parameter, " is final"),
                       due_s, std::min(began_s, at.waits().given_s))));
    }
    taken_until_s = rounds[k].began_s;
    free_s = rounds[k].done_s;
  }
}

void check_end(CaseRunner& runner, const Played& played, const RankStep& at) {
  const auto rounds = rounds_of(played, at);
  const double done_s = rounds.empty() ? 0 : rounds.back().done_s;
  const double best_s = std::max(at.waits().given_s, done_s);
  runner.note_par("time", at.went_on_s() - at.began_s(), best_s - at.began_s(), played);
  if (at.went_on_s() <= best_s + instant_s) return;
  runner.fail(
      played,
      because({"too_slow", "synchronize() talks to the other ranks; it only has to wait"},
              too_late(at,
                       text("the gradients are right, but", in_step(at.problem, at.step), " rank ",
                            at.rank, " goes on ", microseconds(at.went_on_s() - best_s),
                            " after the last sum was there"),
                       best_s, at.went_on_s())));
}

void check_once(CaseRunner& runner, const Played& played, const OptimizerProblem& p,
                const TrainingService& events) {
  for (std::size_t step = 0; step < p.training.steps.size(); ++step) {
    const RankStep at{p, events, step, 0};
    std::int64_t bytes = 0;
    for (const CollectiveRecord& record : played.counters.collectives) {
      const double entered_s = record.entered_s.empty() ? -1 : record.entered_s.front();
      const bool of_step = entered_s >= at.began_s() && entered_s <= at.went_on_s();
      if (record.kind == Collective::all_reduce && of_step) bytes += record.bytes;
    }
    const std::int64_t once = p.training.plan().bytes();
    if (bytes <= once) continue;
    runner.fail(played, because({"reduced_twice",
                                 "the passes of a step are added up on each rank, and their sum is "
                                 "handed over once, in the hook of the last pass"},
                                {.verdict = Verdict::efficiency,
                                 .message = text("the gradients are right, but", in_step(p, step),
                                                 " ", grouped(bytes),
                                                 " bytes are summed where the "
                                                 "gradients have ",
                                                 grouped(once)),
                                 .expected = text(once),
                                 .seen = text(bytes)}));
  }
}

}  // namespace

void check_hand_over(CaseRunner& runner, const Played& played, const OptimizerProblem& p,
                     const TrainingService& events) {
  if (p.members.size() == 1) return;
  check_once(runner, played, p, events);
  for (std::size_t step = 0; step < p.training.steps.size(); ++step) {
    for (int rank = 0; rank < p.members.size(); ++rank) {
      check_no_waiting(runner, played, {p, events, step, rank});
    }
    for (int rank = 0; rank < p.members.size(); ++rank) {
      const RankStep at{p, events, step, rank};
      check_rounds(runner, played, at);
      check_end(runner, played, at);
    }
  }
}

}  // namespace lockstep::grader::distributed_optimizer
