#include "grader/batch/run/grading_unit.hpp"

#include <nlohmann/json.hpp>

#include "engine/base/error.hpp"
#include "grader/batch/processes/processor_time.hpp"
#include "grader/batch/run/unit_report.hpp"
#include "grader/course/text/text_file.hpp"
#include "grader/lab/grade.hpp"
#include "grader/lab/quiz_grade.hpp"
#include "grader/lab/report.hpp"
#include "grader/sandbox/confined_quiz.hpp"

namespace lockstep::grader {
namespace {

namespace fs = std::filesystem;

// Names of folders that exist for this run alone would make two runs differ.
std::string without(std::string text, const std::string& part) {
  for (std::size_t at; (at = text.find(part)) != std::string::npos;) text.erase(at, part.size());
  return text;
}

// The compiler and the linker, in the sandbox.
CommandResult run_tool(const Sandbox& sandbox, const fs::path& folder,
                       const std::vector<std::string>& argv, const std::vector<fs::path>& reads) {
  constexpr double orphans_s = 0.5;  // the sandbox leaves its first process to this one
  const double before = processor_s_of_children();
  CommandResult result = sandbox.build(argv, reads, folder);
  reap_children(orphans_s);
  result.processor_s = processor_s_of_children() - before;
  result.output = without(std::move(result.output), folder.string() + "/");
  return result;
}

Grade grade_code(const Lab& lab, const Sandbox& sandbox, const GradingUnit& unit,
                 const fs::path& folder, JudgeOptions judging) {
  const fs::path source = lab.places.work(*unit.exercise);
  const fs::path player = folder / "player";
  const BuildTool tool = [&](const auto& argv, const auto& reads) {
    return run_tool(sandbox, folder, argv, reads);
  };
  const auto put = [&](const std::string& content) {
    write_text(folder / lab.places.shown(source), content);
  };
  const StudentBuild build =
      build_player_fairly(lab.places, *unit.exercise, unit.content, player, tool, put);
  if (build.cause.empty()) {
    if (!fs::is_regular_file(fs::symlink_status(player))) throw Error("the linker made no player");
    fs::permissions(player, fs::perms(0755));
  }
  judging.limits.launcher = sandbox.player_launcher();
  return grade_build(lab, *unit.exercise, source, build, std::move(judging), tool);
}

Grade grade_answers(const Lab& lab, const GradingUnit& unit, const fs::path& folder,
                    const JudgeOptions& judging) {
  const fs::path answers = folder / "answers.toml";
  write_text(answers, unit.content);
  const ConfinedQuizReader reader(lab.places, folder);
  Grade grade;
  try {
    grade.report = grade_quiz(lab, *unit.exercise, answers, judging.seed, &reader);
  } catch (const UnreadableQuiz& unreadable) {
    grade.report.verdict = Verdict::refused;
    grade.report.max_points = unit.exercise->points;
    grade.report.cause = "unreadable";
    grade.report.message = unreadable.what();
  }
  grade.report.exercise = unit.exercise->handle();
  return grade;
}

}  // namespace

nlohmann::json judge_unit(const Lab& lab, const Sandbox& sandbox, const GradingUnit& unit,
                          const fs::path& folder) {
  fs::create_directories(folder);
  JudgeOptions judging;
  judging.seed = unit.seed;
  judging.limits = lab.limits;
  const Grade grade = unit.exercise->kind == Kind::code
                          ? grade_code(lab, sandbox, unit, folder, judging)
                          : grade_answers(lab, unit, folder, judging);
  nlohmann::json report = report_fit_to_print(json_of(grade));
  nlohmann::json seconds = std::move(report.at("seconds"));
  report.erase("seconds");
  for (auto& check : report.at("checks")) {
    seconds["checks"].push_back(check.at("seconds"));
    check.erase("seconds");
  }
  return {{"verdict", report.at("verdict")},       {"points", report.at("points")},
          {"max_points", report.at("max_points")}, {"cause", report.at("cause")},
          {"report", std::move(report)},           {"seconds", std::move(seconds)}};
}

}  // namespace lockstep::grader
