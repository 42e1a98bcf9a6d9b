#include "grader/batch/run/canary.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <nlohmann/json.hpp>
#include <thread>

#include "engine/base/error.hpp"
#include "grader/batch/processes/digest.hpp"
#include "grader/batch/run/class_run.hpp"
#include "grader/course/text/text_file.hpp"
#include "grader/dev/impostors.hpp"
#include "grader/dev/liars.hpp"

namespace lockstep::grader {
namespace {

constexpr const char* leaves_before_main =
    "\n#include <cstdlib>\n"
    "namespace { struct Leaves { Leaves() { std::_Exit(0); } } leaves; }\n";

constexpr const char* speaks_to_the_assembler = "\n#ident \"\\\"\\n\\t.data\\n\\t.byte 144\\n#\"\n";

}  // namespace

const Exercise& canary_exercise(const Course& course) {
  return exercise_named(course, "broadcast");
}

void try_judges(const Lab& lab, const Sandbox& sandbox, const std::filesystem::path& area,
                const std::vector<PlannedUnit>& units, int jobs, const std::string& secret) {
  std::vector<const Exercise*> exercises;
  for (const PlannedUnit& planned : units) {
    if (planned.unit.exercise->kind == Kind::code) exercises.push_back(planned.unit.exercise);
  }
  std::ranges::sort(exercises, {}, &Exercise::address);
  const auto twice = std::ranges::unique(exercises);
  exercises.erase(twice.begin(), twice.end());
  if (exercises.empty()) return;
  send_impostors(lab, exercises, jobs, secret);
  send_canaries(lab, sandbox, area, jobs, secret);
}

void send_impostors(const Lab& lab, const std::vector<const Exercise*>& exercises, int jobs,
                    const std::string& secret) {
  std::atomic<std::size_t> next{0};
  std::vector<std::string> taken_in(exercises.size());
  const auto judge = [&](const Exercise& exercise) {
    for (const char* kind : impostor_kinds) {
      const Report report = judge_impostor(lab, exercise, lab.places.impostor(kind), Battery::brief,
                                           seed_of(secret, text("impostor ", exercise.address())));
      if (report.verdict != Verdict::infrastructure && !is_taken_in(report)) continue;
      return text("nothing is graded: the ", kind,
                  " impostor, a player without any part, is judged '", name_of(report.verdict),
                  "' with ", report.points, " points in ", exercise.name,
                  ". Its exam takes too little for evidence; leave it out with "
                  "--exercises, or mend it (./lab dev impostors ",
                  exercise.name, ")");
    }
    for (const Liar& liar : liars_of(exercise)) {
      const Report report =
          judge_impostor(lab, exercise, lab.places.impostor(liar.kind()), Battery::brief,
                         seed_of(secret, text("impostor ", exercise.address())));
      if (report.verdict != Verdict::infrastructure && report.verdict != Verdict::pass) continue;
      return text("nothing is graded: the ", liar.kind(),
                  " impostor, a player that reports what it "
                  "does not do, is judged '",
                  name_of(report.verdict), "' with ", report.points, " points in ", exercise.name,
                  ". Its exam believes it; leave it out with --exercises, or mend it "
                  "(./lab dev impostors ",
                  exercise.name, ")");
    }
    return std::string();
  };
  {
    std::vector<std::jthread> strands;
    for (int job = 0; job < std::max(1, jobs); ++job) {
      strands.emplace_back([&] {
        for (std::size_t at = next++; at < exercises.size(); at = next++) {
          try {
            taken_in[at] = judge(*exercises[at]);
          } catch (const std::exception& error) {
            taken_in[at] = text("the impostors could not be judged: ", error.what());
          }
        }
      });
    }
  }
  const auto found = std::ranges::find_if_not(taken_in, &std::string::empty);
  if (found != taken_in.end()) throw Error(*found);
}

void send_canaries(const Lab& lab, const Sandbox& sandbox, const std::filesystem::path& area,
                   int jobs, const std::string& secret) {
  const Exercise& exercise = canary_exercise(lab.course);
  const std::string reference = read_text(lab.places.solution(exercise));
  struct Canary {
    std::string name, content, verdict;
    int points;
  };
  const std::array<Canary, 4> canaries{
      Canary{"the reference", reference, "pass", exercise.points},
      Canary{"the stub", pristine(lab.places, exercise), "unsolved", 0},
      Canary{"a file that exits before main", reference + leaves_before_main, "rank exited", 0},
      Canary{"a file that speaks to the assembler", reference + speaks_to_the_assembler,
             "compile error", 0}};
  std::vector<PlannedUnit> units;
  for (const Canary& canary : canaries) {
    units.push_back(
        {{&exercise, canary.content, seed_of(secret, "canary " + canary.name)}, canary.name});
  }
  ClassLimits limits;
  limits.jobs = jobs;
  judge_units(
      lab, sandbox, area, units, limits,
      [&](const nlohmann::json& record) {
        for (const Canary& canary : canaries) {
          if (record.at("sha256") != canary.name) continue;
          if (record.at("verdict") == canary.verdict && record.at("points") == canary.points) break;
          throw Error(text("the grader does not trust itself: of ", exercise.name, ", ",
                           canary.name, " is judged '", record.at("verdict").get<std::string>(),
                           "' with ", record.at("points").get<int>(), " points, not '",
                           canary.verdict, "' with ", canary.points, ": ",
                           record.at("report").value("message", "")));
        }
      },
      [](std::size_t, std::size_t, const nlohmann::json&) {});
}

}  // namespace lockstep::grader
