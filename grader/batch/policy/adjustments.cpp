#include "grader/batch/policy/adjustments.hpp"

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "engine/base/text.hpp"
#include "grader/batch/policy/date_time.hpp"
#include "grader/batch/policy/late.hpp"

namespace lockstep::grader {
namespace {

using nlohmann::json;

void add_note(json& row, const std::string& sentence) {
  std::string note = row.at("note");
  row["note"] = note.empty() ? sentence : note + "; " + sentence;
}

// Writes what a person reads about the loss, also when there was nothing to lose.
void make_late(json& row, const LatePolicy& policy, const std::string& student,
               std::int64_t handed_in) {
  const std::string address = row.at("exercise");
  const Lateness late = lateness(policy, student, address, handed_in);
  row["days_late"] = late.days;
  if (late.days == 0) return;
  const int points = row.at("points");
  const int lost = points * late.loss / 100;
  row["points"] = points - lost;
  add_note(row, text(late.days, late.days == 1 ? " day late" : " days late", " (handed in ",
                     written_date_time(handed_in, policy.zone_minutes), ", due ",
                     written_date_time(due(policy, student, address), policy.zone_minutes),
                     "): ", late.loss, " % lost"));
}

std::optional<std::int64_t> time_of(const json& times, const std::string& student,
                                    const std::string& exercise) {
  const auto of_student = times.at("times").find(student);
  if (of_student == times.at("times").end()) return std::nullopt;
  const auto of_file = of_student->find(exercise);
  if (of_file == of_student->end()) return std::nullopt;
  return of_file->at(0).get<std::int64_t>();
}

}  // namespace

Adjustments::Adjustments(const std::vector<json>& records) {
  const json* late = nullptr;
  const json* overrides = nullptr;
  for (const json& record : records) {
    const auto& kind = record.at("record").get_ref<const std::string&>();
    if (kind == "late") late = &record;
    if (kind == "overrides") overrides = &record;
    if (kind == "hand_in_times") times_ = &record;
  }
  if (late != nullptr) late_ = late_from(*late);
  if (overrides == nullptr) return;
  for (const json& entry : overrides->at("entries")) {
    overrides_[entry.at("student")].push_back(&entry);
  }
}

void Adjustments::adjust(json& student) const {
  const std::string name = student.at("student");
  student["comment"] = "";
  for (json& row : student.at("rows")) {
    row["judged_points"] = row.at("points");
    row["days_late"] = 0;
    row["note"] = "";
    row["comment"] = "";
    row["by_hand"] = false;
    if (!late_ || times_ == nullptr) continue;
    if (const auto time = time_of(*times_, name, row.at("exercise"))) {
      make_late(row, *late_, name, *time);
    }
  }
  const auto entries = overrides_.find(name);
  if (entries == overrides_.end()) return;
  for (const json* each : entries->second) {
    const json& entry = *each;
    if (entry.at("exercise") == "") student["comment"] = entry.at("comment");
    for (json& row : student.at("rows")) {
      if (row.at("exercise") != entry.at("exercise")) continue;
      row["comment"] = entry.at("comment");
      if (entry.at("points").is_null()) {
        if (entry.at("reason") != "") add_note(row, entry.at("reason"));
        continue;
      }
      row["by_hand"] = true;
      row["points"] = entry.at("points");
      add_note(row, text("set by hand to ", entry.at("points").get<int>(), ": ",
                         entry.at("reason").get<std::string>()));
    }
  }
}

}  // namespace lockstep::grader
