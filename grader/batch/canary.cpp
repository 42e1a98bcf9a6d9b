#include "grader/batch/canary.hpp"

#include <array>
#include <nlohmann/json.hpp>

#include "engine/base/error.hpp"
#include "grader/batch/class_run.hpp"
#include "grader/batch/digest.hpp"
#include "grader/course/text_file.hpp"

namespace lockstep::grader {
namespace {

constexpr const char* leaves_before_main =
    "\n#include <cstdlib>\n"
    "namespace { struct Leaves { Leaves() { std::_Exit(0); } } leaves; }\n";

}  // namespace

const Exercise& canary_exercise(const Course& course) {
  return exercise_named(course, "broadcast");
}

void send_canaries(const Lab& lab, const Sandbox& sandbox, const std::filesystem::path& area,
                   int jobs, const std::string& secret) {
  const Exercise& exercise = canary_exercise(lab.course);
  const std::string reference = read_text(lab.places.solution(exercise));
  struct Canary {
    std::string name, content, verdict;
    int points;
  };
  const std::array<Canary, 3> canaries{
      Canary{"the reference", reference, "pass", exercise.points},
      Canary{"the stub", read_text(lab.places.stub(exercise)), "unsolved", 0},
      Canary{"a file that exits before main", reference + leaves_before_main, "rank exited", 0}};
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
