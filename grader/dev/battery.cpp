#include "grader/dev/battery.hpp"

#include <algorithm>

#include "engine/base/text.hpp"

namespace lockstep::grader {

SituationCounts situations_asked(const Report& report) {
  SituationCounts asked;
  for (const CheckReport& check : report.checks) {
    for (const auto& [situation, cases] : check.situations) asked[situation] += cases;
  }
  return asked;
}

std::vector<std::string> holes_of_battery(const Exercise& exercise, const Report& report) {
  const auto battery = battery_of(exercise.battery);
  if (!battery) return {text("there is no battery '", exercise.battery, "'")};
  std::vector<std::string> holes;
  const SituationCounts asked = situations_asked(report);
  for (const Situation situation : *battery) {
    const std::string name(name_of(situation));
    const bool excepted = exercise.not_asked.contains(name);
    if (asked.contains(situation) == excepted) {
      holes.push_back(
          excepted ? text("the exam asks ", name, ", which the manifest excepts under [not_asked]")
                   : text("the exam never asks ", name, " (", sentence_of(situation),
                          "): add a case, or a line of [not_asked] with the reason"));
    }
  }
  for (const auto& [name, reason] : exercise.not_asked) {
    const auto situation = situation_named(name);
    if (!situation || std::ranges::find(*battery, *situation) == battery->end()) {
      holes.push_back(text("[not_asked] names ", name, ", which is no situation of the battery '",
                           exercise.battery, "'"));
    } else if (reason.empty()) {
      holes.push_back(text("[not_asked] gives no reason for ", name));
    }
  }
  return holes;
}

std::vector<SituationRow> situation_rows(const Exercise& exercise, const Report& report) {
  std::vector<SituationRow> rows;
  for (const auto& [situation, cases] : situations_asked(report)) {
    rows.push_back({std::string(name_of(situation)), cases, {}});
  }
  for (const auto& [name, why] : exercise.not_asked) rows.push_back({name, 0, why});
  return rows;
}

}  // namespace lockstep::grader
