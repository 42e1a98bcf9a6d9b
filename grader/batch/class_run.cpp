#include "grader/batch/class_run.hpp"

#include <nlohmann/json.hpp>

#include "engine/base/error.hpp"
#include "grader/batch/crew.hpp"

namespace lockstep::grader {
namespace {

using nlohmann::json;
constexpr int attempts_max = 3;

json own_result(const Exercise& exercise, const std::string& verdict, const std::string& cause,
                const std::string& message) {
  const json report = {{"verdict", verdict}, {"message", message}, {"checks", json::array()}};
  return {{"verdict", verdict}, {"points", 0},      {"max_points", exercise.points},
          {"cause", cause},     {"report", report}, {"seconds", json::object()}};
}

class ClassRun {
 public:
  ClassRun(const std::vector<PlannedUnit>& units, const ClassLimits& limits)
      : units_(units), limits_(limits) {}

  // The result of one attempt; nothing when the unit is to be tried again.
  std::optional<json> result_of(std::size_t number, const Outcome& outcome, int attempt) const {
    const Exercise& exercise = *units_[number].unit.exercise;
    switch (outcome.state) {
      case Outcome::State::answered:
        return json::parse(outcome.answer);
      case Outcome::State::timed_out:
        if (attempt == 1) return std::nullopt;
        return own_result(exercise, "time", "submission_time",
                          text("judging it took more than ", limits_.submission_s, " s"));
      case Outcome::State::died:
        break;
    }
    if (attempt < attempts_max) return std::nullopt;
    return own_result(exercise, "infrastructure", "lab_failed", outcome.how);
  }

 private:
  const std::vector<PlannedUnit>& units_;
  const ClassLimits& limits_;
};

}  // namespace

void judge_units(const Lab& lab, const Sandbox& sandbox, const std::filesystem::path& area,
                 const std::vector<PlannedUnit>& units, const ClassLimits& limits,
                 const std::function<void(const json& record)>& keep, const Told& told) {
  const ClassRun run(units, limits);
  std::vector<std::size_t> left(units.size());
  for (std::size_t i = 0; i < left.size(); ++i) left[i] = i;
  std::size_t finished = 0;
  for (int attempt = 1; !left.empty(); ++attempt) {
    std::vector<std::function<std::string()>> tasks;
    const auto folder_of = [&](std::size_t task) {
      return area / text("unit-", attempt, "-", left[task]);
    };
    for (std::size_t task = 0; task < left.size(); ++task) {
      tasks.emplace_back([&, task] {
        return judge_unit(lab, sandbox, units[left[task]].unit, folder_of(task))
            .dump(-1, ' ', false, json::error_handler_t::replace);
      });
    }
    CrewLimits crew;
    crew.jobs = attempt == 1 ? limits.jobs : 1;
    crew.deadline_s = limits.submission_s;
    std::vector<std::size_t> again;
    work_through(tasks, crew, [&](std::size_t task, const Outcome& outcome) {
      std::error_code ignored;
      std::filesystem::remove_all(folder_of(task), ignored);
      const std::size_t number = left[task];
      auto result = run.result_of(number, outcome, attempt);
      if (!result) return again.push_back(number);
      json& record = *result;
      record["record"] = "result";
      record["exercise"] = units[number].unit.exercise->address();
      record["sha256"] = units[number].sha256;
      record["attempts"] = attempt;
      record["seconds"]["all"] = outcome.seconds;
      keep(record);
      told(++finished, units.size(), record);
    });
    left = std::move(again);
  }
}

}  // namespace lockstep::grader
