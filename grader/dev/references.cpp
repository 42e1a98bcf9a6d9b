#include "grader/dev/references.hpp"

#include <algorithm>
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

// In the order of their names.
std::vector<fs::path> alternatives_of(const Lab& lab, const Exercise& exercise) {
  std::vector<fs::path> files;
  const fs::path folder = lab.places.root / "tests/exercises" / exercise.address() / "alternatives";
  for (const auto& entry : fs::directory_iterator(folder)) files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

}  // namespace

Exit references_command(const Lab& lab, Words words) {
  const bool alternatives = std::erase(words, "--alternatives") > 0;
  const SeedTrials trials = seed_trials(lab, words);
  make_ready(lab, trials.exercises);
  const bool pass = all_hold(trials, [&](const Exercise& exercise) {
    std::string complaints =
        complaints_of(lab, exercise, lab.places.solution(exercise), "the reference", trials.seeds);
    if (!alternatives) return complaints;
    for (const fs::path& file : alternatives_of(lab, exercise)) {
      complaints += complaints_of(lab, exercise, file, lab.places.shown(file), trials.seeds);
    }
    return complaints;
  });
  const char* const judged = alternatives ? "reference and alternative" : "reference";
  std::cout << text_of(trials) << ": " << (pass ? "every " : "not every ") << judged
            << " earns all points\n";
  return pass ? Exit::passed : Exit::failed;
}

}  // namespace lockstep::grader
