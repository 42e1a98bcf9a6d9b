#include "grader/dev/references.hpp"

#include <iostream>

#include "engine/base/error.hpp"
#include "grader/dev/seed_trials.hpp"
#include "grader/lab/grade.hpp"
#include "grader/lab/ready.hpp"

namespace lockstep::grader {

namespace {

std::string complaints_of(const Lab& lab, const Exercise& exercise, int seeds) {
  const std::filesystem::path source = lab.places.solution(exercise);
  const StudentBuild build = build_student(lab.places, exercise, source, Paint::plain);
  std::string complaints;
  for (int seed = 1; seed <= seeds; ++seed) {
    JudgeOptions options;
    options.seed = static_cast<std::uint64_t>(seed);
    options.limits = lab.limits;
    const Report report = grade_build(lab, exercise, source, build, options).report;
    if (report.verdict == Verdict::pass && report.points == exercise.points) continue;
    complaints +=
        text(exercise.handle(), ": with --seed ", seed, " the reference is judged '",
             name_of(report.verdict), "' with ", report.points, " points: ", report.message, "\n");
  }
  return complaints;
}

}  // namespace

Exit references_command(const Lab& lab, const Words& words) {
  const SeedTrials trials = seed_trials(lab, words);
  make_ready(lab, trials.exercises);
  const bool pass = all_hold(
      trials, [&](const Exercise& exercise) { return complaints_of(lab, exercise, trials.seeds); });
  std::cout << text_of(trials) << ": "
            << (pass ? "every reference earns all points" : "not every reference earns all points")
            << "\n";
  return pass ? Exit::passed : Exit::failed;
}

}  // namespace lockstep::grader
