#include "grader/batch/run/class_run.hpp"

#include <algorithm>
#include <chrono>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>

#include "engine/base/error.hpp"
#include "grader/batch/run/unit_report.hpp"

namespace lockstep::grader {
namespace {

using nlohmann::json;
constexpr int attempts_max = 3;
constexpr double costly_s = 10;  // of a student's budget

json own_result(const Exercise& exercise, const std::string& verdict, const std::string& cause,
                const std::string& message) {
  const json report = {{"verdict", verdict}, {"message", message}, {"checks", json::array()}};
  return {{"verdict", verdict}, {"points", 0},      {"max_points", exercise.points},
          {"cause", cause},     {"report", report}, {"seconds", json::object()}};
}

// Waits before each unit for what can be short. Units at work may free it, so waiting can help;
// once that was in vain, there is no waiting again until there is enough.
class Patience {
 public:
  Patience(const ClassSurroundings& surroundings, double limit_s)
      : surroundings_(surroundings), limit_s_(limit_s) {}

  enum class Says : unsigned char { enough, wait, in_vain };
  Says look() {
    if (!surroundings_.probe_space || !surroundings_.find_short) return Says::enough;
    const auto found = surroundings_.find_short(surroundings_.probe_space());
    if (!found) {
      since_.reset();
      return Says::enough;
    }
    const auto now = std::chrono::steady_clock::now();
    if (!since_) {
      since_ = now;
      surroundings_.warn(text(*found, "; waiting for up to ", limit_s_, " s"));
    }
    sentence_ = *found;
    const bool over = std::chrono::duration<double>(now - *since_).count() >= limit_s_;
    return over ? Says::in_vain : Says::wait;
  }
  const std::string& sentence() const { return sentence_; }

 private:
  const ClassSurroundings& surroundings_;
  double limit_s_;
  std::optional<std::chrono::steady_clock::time_point> since_;
  std::string sentence_;
};

enum class Company : unsigned char { others, none };  // that a unit is judged in

class ClassRun {
 public:
  ClassRun(const std::vector<PlannedUnit>& units, const ClassLimits& limits,
           const ClassSurroundings& surroundings, Budgets& budgets,
           const std::function<void(const json&)>& keep, const ProgressReport& on_progress)
      : units_(units),
        limits_(limits),
        surroundings_(surroundings),
        budgets_(budgets),
        keep_(keep),
        on_progress_(on_progress),
        patience_(surroundings, limits.patience_s),
        attempts_(units.size(), 0),
        idle_before_(units.size(), 0) {}

  void run() {
    std::vector<std::size_t> left(units_.size());
    for (std::size_t i = 0; i < left.size(); ++i) left[i] = i;
    judge(left, limits_.jobs > 1 ? Company::others : Company::none);
    first_round_ = false;
    std::sort(alone_.begin(), alone_.end());  // as in the plan: a student's files by the course
    for (const std::size_t number : alone_) {
      while (!is_over(number)) judge({number}, Company::none);
    }
  }

 private:
  void judge(const std::vector<std::size_t>& numbers, Company company) {
    std::vector<std::function<std::string()>> tasks;
    for (const std::size_t number : numbers) {
      tasks.emplace_back(
          [this, number] { return surroundings_.judge(units_[number].unit, folder_of(number)); });
    }
    WorkerLimits limits;
    limits.jobs = company == Company::others ? limits_.jobs : 1;
    limits.deadline_s = limits_.submission_s;
    work_through(
        tasks, limits,
        [&](std::size_t task, const Outcome& outcome) { take(numbers[task], outcome, company); },
        [&](std::size_t task) { return turn_of(numbers[task], company); });
  }

  Turn turn_of(std::size_t number, Company company) {
    if (budgets_.beyond(file(number), Budgets::Figure::final)) {
      attempts_[number] = over;
      on_progress_(++finished_, units_.size(), beyond_budget(number));
      return Turn::leave_out;
    }
    if (company == Company::others && budgets_.beyond(file(number), Budgets::Figure::provisional)) {
      alone_.push_back(number);
      return Turn::leave_out;
    }
    switch (patience_.look()) {
      case Patience::Says::wait:
        return Turn::wait;
      case Patience::Says::in_vain:
        finish(number,
               own_result(exercise(number), "infrastructure", "no_room", patience_.sentence()), {});
        return Turn::leave_out;
      case Patience::Says::enough:
        break;
    }
    ++attempts_[number];
    idle_before_[number] = idle_now();
    return Turn::start;
  }

  void take(std::size_t number, const Outcome& outcome, Company company) {
    std::error_code ignored;
    std::filesystem::remove_all(folder_of(number), ignored);
    std::optional<json> result = result_of(number, outcome);
    const Use use{outcome.seconds, outcome.processor_s, idle_now() - idle_before_[number]};
    const bool again = !result || (company == Company::others && is_doubtful(*result, use)) ||
                       (attempts_[number] == 1 && was_killed(*result));
    if (!again) return finish(number, std::move(*result), use);
    if (result) {
      budgets_.charge(file(number), charge_of(use), Budgets::Figure::provisional);
    }
    if (first_round_) alone_.push_back(number);
  }

  // The result of an attempt. Nothing when the lab failed and may try again.
  std::optional<json> result_of(std::size_t number, const Outcome& outcome) const {
    std::string how = outcome.how;
    if (outcome.state == Outcome::State::timed_out) {
      return own_result(exercise(number), "time", "submission_time",
                        text("judging it took more than ", limits_.submission_s, " s"));
    }
    if (outcome.state == Outcome::State::answered) {
      auto report = result_in(outcome.answer);
      if (report) return report;
      how = "the judge's report cannot be read";
    }
    if (attempts_[number] < attempts_max) return std::nullopt;
    return own_result(exercise(number), "infrastructure", "lab_failed", fit_to_print(how));
  }

  // True if the other units, rather than the file itself, may have made the result what it is.
  static bool is_doubtful(const json& result, const Use& use) {
    if (slept(use)) return false;
    if (charge_of(use) >= costly_s) return true;
    return result.at("verdict") == "time" && result.at("cause") != "asleep";
  }

  // By the kernel, for want of memory, as far as can be told; a player may also do it itself.
  static bool was_killed(const json& result) { return result.at("cause") == "killed"; }

  void finish(std::size_t number, json record, const Use& use) {
    const bool judged = record.at("verdict") != "infrastructure";
    const double charge = judged ? charge_of(use) : 0;
    record["record"] = "result";
    record["exercise"] = exercise(number).address();
    record["sha256"] = units_[number].sha256;
    record["attempts"] = attempts_[number];
    record["charge_s"] = charge;
    record["seconds"]["all"] = use.wall_s;
    record["seconds"]["processor"] = use.processor_s;
    attempts_[number] = over;
    budgets_.charge(file(number), charge, Budgets::Figure::final);
    keep_(record);
    on_progress_(++finished_, units_.size(), record);
  }

  json beyond_budget(std::size_t number) const {
    return {{"exercise", exercise(number).address()}, {"verdict", "time"}};
  }

  double idle_now() const { return surroundings_.idle_clock ? surroundings_.idle_clock() : 0; }

  static constexpr int over = -1;
  bool is_over(std::size_t number) const { return attempts_[number] == over; }
  const Exercise& exercise(std::size_t number) const { return *units_[number].unit.exercise; }
  Budgets::File file(std::size_t number) const {
    return {exercise(number).address(), units_[number].sha256};
  }
  std::filesystem::path folder_of(std::size_t number) const {
    return surroundings_.scratch / text("unit-", number);
  }

  const std::vector<PlannedUnit>& units_;
  const ClassLimits& limits_;
  const ClassSurroundings& surroundings_;
  Budgets& budgets_;
  const std::function<void(const json&)>& keep_;
  const ProgressReport& on_progress_;
  Patience patience_;
  std::vector<int> attempts_;  // of each unit; `over` when it has its result or needs none
  std::vector<double> idle_before_;
  std::vector<std::size_t> alone_;  // to be judged again, or at all, alone
  bool first_round_ = true;
  std::size_t finished_ = 0;
};

}  // namespace

void run_class(const std::vector<PlannedUnit>& units, const ClassLimits& limits,
               const ClassSurroundings& surroundings, Budgets& budgets,
               const std::function<void(const json& record)>& keep,
               const ProgressReport& on_progress) {
  ClassRun(units, limits, surroundings, budgets, keep, on_progress).run();
}

void judge_units(const Lab& lab, const Sandbox& sandbox, const std::filesystem::path& area,
                 const std::vector<PlannedUnit>& units, const ClassLimits& limits,
                 const std::function<void(const json& record)>& keep,
                 const ProgressReport& on_progress, Budgets budgets,
                 const std::filesystem::path& out) {
  ClassSurroundings surroundings;
  surroundings.scratch = area;
  surroundings.judge = [&](const GradingUnit& unit, const std::filesystem::path& folder) {
    return judge_unit(lab, sandbox, unit, folder)
        .dump(-1, ' ', false, json::error_handler_t::replace);
  };
  surroundings.probe_space = [&] { return free_space(area, out); };
  surroundings.find_short = [&](const FreeSpace& left) { return shortage(left, {}, area, out); };
  surroundings.idle_clock = idle_processor_s;
  surroundings.warn = [](const std::string& sentence) {
    std::cerr << "\r" << sentence << "\n" << std::flush;
  };
  run_class(units, limits, surroundings, budgets, keep, on_progress);
}

}  // namespace lockstep::grader
