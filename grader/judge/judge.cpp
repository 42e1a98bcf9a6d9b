#include "grader/judge/judge.hpp"

#include "engine/base/error.hpp"
#include "grader/judge/bench.hpp"

namespace lockstep::grader {
namespace {

// Right but wasteful earns this part of the points.
constexpr int efficiency_percent = 60;

int points_for(sim::Verdict verdict, int max_points) {
  if (verdict == sim::Verdict::pass) return max_points;
  if (verdict == sim::Verdict::efficiency) return max_points * efficiency_percent / 100;
  return 0;
}

std::string replay_line(const std::string& exercise, std::uint64_t seed, int case_number) {
  return text("./lab check ", exercise, " --seed ", seed, " --case ", case_number);
}

// Throws Failure, also when what the player handed in is no result at all.
void run(const Check& check, Bench& bench) {
  try {
    check.run(bench);
  } catch (const MalformedMessage& error) {
    throw bench.unreadable_result(error.what());
  }
}

}  // namespace

Report judge_part(const std::string& exercise, const std::string& player,
                  const JudgeOptions& options) {
  const auto found = exams().find(exercise);
  if (found == exams().end()) throw UsageError(text("there is no exam for '", exercise, "'"));

  Report report;
  report.exercise = exercise;
  report.max_points = options.max_points;
  report.verdict = sim::Verdict::pass;
  Bench bench(exercise, player, options);
  for (const Check& check : found->second()) {
    CheckReport line;
    line.name = check.name;
    // A later check builds on the earlier ones; only after an efficiency verdict it still means
    // something.
    const bool decided =
        report.verdict != sim::Verdict::pass && report.verdict != sim::Verdict::efficiency;
    if (decided && options.battery == Battery::graded) {
      line.skipped = true;
      report.checks.push_back(std::move(line));
      continue;
    }
    const int played_before = bench.played();
    try {
      run(check, bench);
      line.skipped = bench.played() == played_before;
    } catch (const Failure& failure) {
      bench.note(failure);
      line.verdict = failure.verdict;
      line.message = failure.message;
      line.expected = failure.expected;
      line.seen = failure.seen;
      line.where = failure.where;
      line.counters = failure.counters;
      line.replay = replay_line(exercise, options.seed, failure.case_number);
      if (report.verdict == sim::Verdict::pass ||
          (!decided && failure.verdict != sim::Verdict::efficiency)) {
        report.verdict = failure.verdict;
        report.cause = failure.cause;
        report.message = failure.message;
        for (std::size_t rank = 0; rank < failure.output.size(); ++rank) {
          if (!failure.output[rank].empty()) {
            report.output[static_cast<int>(rank)] = failure.output[rank];
          }
        }
      }
    }
    report.checks.push_back(std::move(line));
  }
  bench.end();
  if (options.only_case && bench.played() == 0) {
    throw UsageError(text("there is no case ", *options.only_case, "; ", exercise,
                          " has cases 1 to ", bench.cases()));
  }
  report.only_case = options.only_case;
  report.points = options.only_case ? 0 : points_for(report.verdict, report.max_points);
  return report;
}

}  // namespace lockstep::grader
