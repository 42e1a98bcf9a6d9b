#include "grader/dev/references.hpp"

#include <filesystem>
#include <iostream>

#include "engine/base/error.hpp"
#include "grader/dev/seed_trials.hpp"
#include "grader/lab/grade.hpp"
#include "grader/lab/ready.hpp"

namespace lockstep::grader {

namespace {

namespace fs = std::filesystem;

std::string complaints_of(const Lab& lab, const Exercise& exercise, const fs::path& source,
                          const std::string& name, int seeds) {
  const StudentBuild build = build_student(lab.places, exercise, source, Paint::plain);
  std::string complaints;
  for (int seed = 1; seed <= seeds; ++seed) {
    JudgeOptions options;
    options.seed = static_cast<std::uint64_t>(seed);
    options.limits = lab.limits;
    const Report report = grade_build(lab, exercise, source, build, options).report;
    if (report.verdict == Verdict::pass && report.points == exercise.points) continue;
    complaints +=
        text(exercise.handle(), ": with --seed ", seed, " ", name, " is judged '",
             name_of(report.verdict), "' with ", report.points, " points: ", report.message, "\n");
  }
  return complaints;
}

}  // namespace

Exit references_command(const Lab& lab, Words words) {
  const bool alternatives = std::erase(words, "--alternatives") > 0;
  const char* const judged = alternatives ? "reference and alternative" : "reference";
  const SeedTrials trials = seed_trials(lab, words);
  make_ready(lab, trials.exercises);
  const auto trial_of = [&](const Exercise& exercise) {
    return trial_of_answers(lab, exercise,
                            alternatives ? "references and alternatives" : "references");
  };
  const bool pass = all_hold(lab, trials, trial_of, [&](const Exercise& exercise) {
    std::string complaints =
        complaints_of(lab, exercise, lab.places.solution(exercise), "the reference", trials.seeds);
    const fs::path folder = lab.places.root / "tests/exercises" / exercise.address();
    for (const fs::path& file :
         alternatives ? files_below(folder / "alternatives") : std::vector<fs::path>{}) {
      complaints += complaints_of(lab, exercise, file, lab.places.shown(file), trials.seeds);
    }
    return complaints;
  });
  std::cout << text_of(trials) << ": " << (pass ? "every " : "not every ") << judged
            << " earns all points\n";
  return pass ? Exit::passed : Exit::failed;
}

}  // namespace lockstep::grader
