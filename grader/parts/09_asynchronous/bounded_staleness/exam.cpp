// The exam of bounded_staleness: clocks at the edges of the rule and random ones, for each of which
// every active worker asks; and whole runs in virtual time, in which the part decides who starts,
// and which have to end.
#include <algorithm>

#include "engine/base/units.hpp"
#include "grader/exam/function/exam.hpp"
#include "grader/judge/compare.hpp"
#include "grader/parts/09_asynchronous/bounded_staleness/case.hpp"

namespace lockstep::grader::bounded_staleness {
namespace {

using async_sgd::unbounded;

constexpr int sizes_of_runs[] = {1, 2, 3, 4, 5, 6, 7, 8, 13, 65};
const Cause other_rule{"other_rule",
                       "take the smallest clock of all active workers, 0 too, and compare the "
                       "difference of the clocks with the bound: their sum may not fit 64 bits"};

// One call of the part, and what it answered.
struct Call {
  WorkerClocks at;
  std::size_t worker = 0;
  bool starts = false;
};

bool should_start(const WorkerClocks& at, std::size_t worker) {
  for (std::size_t w = 0; w < at.clocks.size(); ++w) {
    if (!at.finished[w] && at.clocks[worker] - at.clocks[w] > at.bound) return false;
  }
  return true;
}

// The slowest of the active workers.
std::size_t slowest_of(const WorkerClocks& at) {
  std::size_t slowest = at.clocks.size();
  for (std::size_t w = 0; w < at.clocks.size(); ++w) {
    if (at.finished[w]) continue;
    if (slowest == at.clocks.size() || at.clocks[w] < at.clocks[slowest]) slowest = w;
  }
  return slowest;
}

std::string text_of_bound(std::int64_t bound) {
  return bound == unbounded ? "no bound" : text("a bound of ", grouped(bound));
}

// "clocks 7 (5) 9; in parentheses: workers that have finished"
std::string shown_clocks(const WorkerClocks& at) {
  std::string shown = "clocks";
  for (std::size_t w = 0; w < at.clocks.size(); ++w) {
    const std::string clock = grouped(at.clocks[w]);
    shown += at.finished[w] ? text(" (", clock, ")") : text(" ", clock);
  }
  const bool any = std::ranges::count(at.finished, 1) > 0;
  return any ? shown + "; in parentheses: workers that have finished" : shown;
}

std::string text_of_clocks(const WorkerClocks& at) {
  return text(text_of_bound(at.bound), ", ", shown_clocks(at));
}

std::string text_of_run(const WorkerRun& run) {
  return text("a run of ", counted(std::ssize(run.steps), "worker"), " with ", listed(run.steps),
              " steps of ", listed(run.step_ms), " ms, ", text_of_bound(run.bound));
}

// One wrong answer, in words: "worker 2 may start, 4 steps ahead of worker 1, …".
std::string told(const Call& call) {
  const std::size_t slowest = slowest_of(call.at);
  const std::string limit =
      call.at.bound == unbounded ? "there is no bound" : "the bound is " + grouped(call.at.bound);
  std::string where = "though it is the slowest active worker";
  if (call.worker != slowest) {
    const std::int64_t lead = call.at.clocks[call.worker] - call.at.clocks[slowest];
    where = text(grouped(lead), lead == 1 ? " step" : " steps", " ahead of worker ", slowest,
                 ", the slowest active one");
  }
  return text("worker ", call.worker, call.starts ? " was let go, " : " waits, ", where, "; ",
              limit);
}

std::string who_starts(const WorkerClocks& at, const Starts& starts) {
  std::vector<std::size_t> workers;
  for (std::size_t w = 0; w < starts.size(); ++w) {
    if (!at.finished[w] && starts[w] != 0) workers.push_back(w);
  }
  return workers.empty() ? "nobody may start" : text("workers ", listed(workers), " may start");
}

Starts right_starts(const WorkerClocks& at) {
  Starts starts(at.clocks.size());
  for (std::size_t w = 0; w < starts.size(); ++w) {
    starts[w] = !at.finished[w] && should_start(at, w) ? 1 : 0;
  }
  return starts;
}

std::optional<Failure> wrong_starts(std::span<const WorkerClocks> asked, const Starts& seen) {
  const WorkerClocks& at = asked.back();
  if (seen.size() != at.clocks.size()) {
    throw MalformedMessage(
        text("malformed message: ", seen.size(), " answers of ", at.clocks.size(), " workers"));
  }
  const Starts right = right_starts(at);
  std::size_t wrong = 0;
  while (wrong < seen.size() && (at.finished[wrong] || (seen[wrong] != 0) == (right[wrong] != 0))) {
    ++wrong;
  }
  if (wrong == seen.size()) return std::nullopt;
  return because(other_rule, {.message = told({at, wrong, seen[wrong] != 0}),
                              .expected = who_starts(at, right),
                              .seen = who_starts(at, seen)});
}

// Plays a run again with the answers that the part gave.
struct Replay {
  Replay(const WorkerRun& run, const Starts& answers) {
    end = follow(run, [&](const WorkerClocks& at, int worker, std::int64_t now_ms) {
      if (calls.size() == answers.size()) {
        throw MalformedMessage("malformed message: a run in which a call has no answer");
      }
      calls.push_back({at, static_cast<std::size_t>(worker), answers[calls.size()] != 0});
      at_ms.push_back(now_ms);
      return calls.back().starts;
    });
    if (calls.size() != answers.size()) {
      throw MalformedMessage("malformed message: a run with more answers than calls");
    }
  }
  std::vector<Call> calls;
  std::vector<std::int64_t> at_ms;
  WorkerClocks end;
};

std::optional<Failure> wrong_run(std::span<const WorkerRun> asked, const Starts& seen) {
  const Replay replay(asked.back(), seen);
  const auto is_wrong = [](const Call& call) {
    return call.starts != should_start(call.at, call.worker);
  };
  const auto first = std::ranges::find_if(replay.calls, is_wrong);
  if (first == replay.calls.end()) return std::nullopt;
  const auto place = static_cast<std::size_t>(first - replay.calls.begin());
  Failure failure{.message = told(*first),
                  .expected = text("worker ", first->worker, first->starts ? " waits" : " starts"),
                  .seen = text("worker ", first->worker, first->starts ? " starts" : " waits"),
                  .where = text(text_of_run(asked.back()), ", after ", replay.at_ms[place],
                                " ms: ", shown_clocks(first->at))};
  const WorkerClocks& end = replay.end;
  if (std::ranges::count(end.finished, 0) > 0) {
    failure.verdict = Verdict::deadlock;
    failure.message =
        text("every active worker waits, and nobody computes, so they wait for ever; ", "worker ",
             slowest_of(end), " is the slowest of them");
    failure.expected = text("worker ", slowest_of(end), " starts");
    failure.seen = "nobody starts";
    failure.where = text(text_of_run(asked.back()), ", after ", replay.at_ms.back(),
                         " ms: ", shown_clocks(end));
  }
  return because(other_rule, failure);
}

// Without one of the workers.
std::vector<WorkerClocks> fewer_workers(const WorkerClocks& at) {
  std::vector<WorkerClocks> offered;
  for (std::size_t w = 0; w < at.clocks.size() && at.clocks.size() > 1; ++w) {
    WorkerClocks& fewer = offered.emplace_back(at);
    fewer.clocks.erase(fewer.clocks.begin() + static_cast<std::ptrdiff_t>(w));
    fewer.finished.erase(fewer.finished.begin() + static_cast<std::ptrdiff_t>(w));
    if (std::ranges::count(fewer.finished, 0) == 0) offered.pop_back();
  }
  return offered;
}

// With half of the steps, without one of the workers, or with a step less of each.
std::vector<WorkerRun> smaller_runs(const WorkerRun& run) {
  std::vector<WorkerRun> offered{run};
  for (std::int64_t& steps : offered.back().steps) steps = (steps + 1) / 2;
  if (offered.back().steps == run.steps) offered.pop_back();
  for (std::size_t w = 0; w < run.steps.size() && run.steps.size() > 1; ++w) {
    WorkerRun& fewer = offered.emplace_back(run);
    fewer.steps.erase(fewer.steps.begin() + static_cast<std::ptrdiff_t>(w));
    fewer.step_ms.erase(fewer.step_ms.begin() + static_cast<std::ptrdiff_t>(w));
  }
  for (std::size_t w = 0; w < run.steps.size(); ++w) {
    if (run.steps[w] > 1) --offered.emplace_back(run).steps[w];
  }
  return offered;
}

bool is_valid(const WorkerClocks& at) {
  return at.bound >= 0 && at.clocks.size() == at.finished.size() &&
         std::ranges::all_of(at.clocks, [](std::int64_t clock) { return clock >= 0; });
}

const FunctionContract<WorkerClocks, Starts> contract{
    .text_of = text_of_clocks,
    .wrong = wrong_starts,
    .is_right = [](const WorkerClocks& at, const Starts& seen) { return seen == right_starts(at); },
    .refusals = {{.valid = is_valid,
                  .accepts = {"accepts_nonsense",
                              "there is a clock for each worker, and neither clocks nor bounds are "
                              "negative; the checks above your region refuse the rest"},
                  .nonsense = {{{7, 5, 9}, {0, 0, 0}, -1},
                               {{7, 5, -9}, {0, 0, 0}, 3},
                               {{7, 5, 9, 8}, {0, 0, 0}, 3},
                               {{7, 5}, {0, 0, 0}, 3}}}},
    .form = fields_to_bytes(StalenessForm::clocks),
    .smaller = fewer_workers,
    .sizes = [](const WorkerClocks& at) -> Sizes {
      return {std::ssize(at.clocks), at.clocks};
    }};
const FunctionContract<WorkerRun, Starts> contract_of_runs{
    .text_of = text_of_run,
    .wrong = wrong_run,
    // A run's answers are those of its own calls.
    .is_right = [](const WorkerRun&, const Starts&) { return false; },
    .refusals = {{.valid = [](const WorkerRun&) { return true; }, .accepts = {}, .nonsense = {}}},
    .form = fields_to_bytes(StalenessForm::runs),
    .smaller = smaller_runs};

WorkerClocks all_active(const std::vector<std::int64_t>& clocks, std::int64_t bound) {
  return {clocks, Starts(clocks.size()), bound};
}

enum class Finished : std::uint8_t { none, some };

// Draws clocks for every number of workers, `spread` steps apart or less.
std::vector<WorkerClocks> random_clocks(CaseRunner& runner, Finished finished, std::int64_t from,
                                        std::int64_t spread,
                                        const std::vector<std::int64_t>& bounds) {
  std::vector<WorkerClocks> all;
  for (const std::int64_t bound : bounds) {
    for (const int workers : every_rank_count) {
      WorkerClocks& at = all.emplace_back();
      at.bound = bound;
      const std::int64_t base = from + runner.draw_between(0, 3);
      for (int w = 0; w < workers; ++w) {
        at.clocks.push_back(base + runner.draw_between(0, spread));
        at.finished.push_back(finished == Finished::some && runner.draw_between(0, 2) == 0);
      }
      at.finished[static_cast<std::size_t>(runner.draw_between(0, workers - 1))] = 0;
    }
  }
  return all;
}

// Only the last worker is slow: all others wait for it.
WorkerClocks slow_last(std::size_t workers, std::int64_t bound) {
  std::vector<std::int64_t> clocks(workers, 9);
  clocks.back() = 2;
  return all_active(clocks, bound);
}

std::vector<WorkerClocks> with(std::vector<WorkerClocks> first, std::vector<WorkerClocks> more) {
  std::ranges::move(more, std::back_inserter(first));
  return first;
}

// The first clocks tell most misreadings apart: 6 may start, 7 is one step too far, 8 may start by
// worker 0, 9 by the mean, and 10 by none of these.
std::vector<WorkerClocks> near_the_bound(CaseRunner& runner) {
  return with({all_active({4, 2, 6, 5, 7, 2, 8, 2, 9, 10}, 4), all_active({7, 5, 9}, 4),
               all_active({7, 5, 9}, 3), all_active({5, 8, 9, 9}, 3), all_active({9, 9, 8, 5}, 3),
               all_active({1, 9, 9, 9}, 3), all_active({12}, 1), slow_last(20, 4),
               slow_last(100, 4), slow_last(300, 4)},
              random_clocks(runner, Finished::none, 0, 8, {1, 2, 3, 5, 7}));
}

std::vector<WorkerClocks> some_finished(CaseRunner& runner) {
  return with({{{7, 5, 9, 8, 4}, {0, 1, 0, 0, 1}, 1},
               {{7, 5, 9}, {0, 1, 0}, 3},
               {{7, 5, 9}, {1, 0, 0}, 3},
               {{3, 3, 9, 3}, {1, 1, 0, 1}, 2},
               {{9, 3}, {0, 1}, 2},
               {{0, 4, 3}, {1, 0, 0}, 1}},  // it ended before its first step
              random_clocks(runner, Finished::some, 0, 8, {1, 2, 4, 5}));
}

std::vector<WorkerClocks> in_step(CaseRunner& runner) {
  return with({all_active({4, 4, 5, 4}, 0), all_active({0, 0}, 0), all_active({5, 5, 5}, 0)},
              with(random_clocks(runner, Finished::none, 6, 2, {0}),
                   random_clocks(runner, Finished::some, 6, 2, {0, 0})));
}

std::vector<WorkerClocks> without_bound(CaseRunner& runner) {
  return with({all_active({0, std::int64_t{1} << 40}, unbounded), all_active({3, 1, 2}, unbounded)},
              random_clocks(runner, Finished::some, 1, 1'000'000, {unbounded, unbounded}));
}

std::vector<WorkerClocks> beyond_32_bits(CaseRunner& runner) {
  constexpr std::int64_t wide = std::int64_t{1} << 32;
  const auto around = [&](std::int64_t from) {
    return random_clocks(runner, Finished::some, from, 8, {0, 2, 4});
  };
  const std::vector<WorkerClocks> far_apart{
      all_active({1, 1 + wide, 9 + wide, 3}, 2),
      all_active({5, 5 + wide}, wide),
      all_active({5, 5 + wide}, wide - 1),
      all_active({0, wide, wide * 3}, wide * 2),
      all_active({7, (std::int64_t{1} << 62) + 7}, std::int64_t{1} << 62),
      all_active({(std::int64_t{1} << 60) + 3, std::int64_t{1} << 60}, 2),
      all_active({0, (std::int64_t{1} << 61) + 1}, std::int64_t{1} << 61),
      all_active({5, 3}, unbounded - 1)};
  return with(with(far_apart, around((std::int64_t{1} << 31) - 4)), around(wide * 700));
}

// Workers of different speeds, which finish one after the other.
std::vector<WorkerRun> random_runs(CaseRunner& runner, const std::vector<std::int64_t>& bounds) {
  std::vector<WorkerRun> all;
  for (const std::int64_t bound : bounds) {
    for (const int workers : sizes_of_runs) {
      WorkerRun& run = all.emplace_back();
      run.bound = bound;
      for (int w = 0; w < workers; ++w) {
        run.step_ms.push_back(runner.draw_between(1, 9));
        run.steps.push_back(runner.draw_between(3, 14));
      }
      // The first to finish leaves others that are far from their end.
      run.steps.front() = 3;
      run.steps.back() = 15;
    }
  }
  return all;
}

}  // namespace

Exam exam() {
  return {
      {"a worker may start when it is at most the bound ahead of the slowest one",
       [](CaseRunner& runner) {
         judge(runner, contract, "all are active", near_the_bound(runner));
       }},
      {"in whole runs, nobody runs further ahead than the bound, and nobody waits for ever",
       [](CaseRunner& runner) {
         judge(runner, contract_of_runs, "runs", random_runs(runner, {1, 2, 5}));
       }},
      {"nobody waits for a worker that has finished",
       [](CaseRunner& runner) {
         judge(runner, contract, "some have finished", some_finished(runner));
       }},
      {"with a bound of 0, all active workers go in step",
       [](CaseRunner& runner) {
         judge(runner, contract, "in step", in_step(runner));
         judge(runner, contract_of_runs, "runs in step", random_runs(runner, {0}));
       }},
      {"without a bound, nobody waits",
       [](CaseRunner& runner) {
         judge(runner, contract, "no bound", without_bound(runner));
         judge(runner, contract_of_runs, "runs without a bound", random_runs(runner, {unbounded}));
       }},
      {"clocks and bounds beyond 32 bits",
       [](CaseRunner& runner) { judge(runner, contract, "large", beyond_32_bits(runner)); }},
      check_of_refusals(contract,
                        "negative clocks and bounds, and lists of two lengths are refused",
                        {all_active({7, 5, 9}, 4)}),
  };
}

}  // namespace lockstep::grader::bounded_staleness
