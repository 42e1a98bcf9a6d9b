#include "grader/batch/reports/grades.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "engine/base/text.hpp"
#include "grader/batch/hand_ins/submission.hpp"
#include "grader/batch/policy/adjustments.hpp"
#include "grader/batch/run/budget.hpp"
#include "grader/export/escaped.hpp"

namespace lockstep::grader {
namespace {

using nlohmann::json;

const json& last_plan(const std::vector<json>& records) {
  static const json none = {{"exercises", json::array()}, {"students", json::array()}};
  const json* plan = &none;
  for (const json& record : records) {
    if (record.at("record") == "plan") plan = &record;
  }
  return *plan;
}

json last_settings(const std::vector<json>& records) {
  json settings = json::object();
  for (const json& record : records) {
    if (record.at("record") == "settings") settings = record;
  }
  return settings;
}

json row(const json& exercise, const std::string& verdict, const json& points,
         const std::string& cause, const std::string& reason = "") {
  return {{"exercise", exercise.at("exercise")}, {"verdict", verdict}, {"points", points},
          {"max_points", exercise.at("points")}, {"cause", cause},     {"reason", reason}};
}

json row_of(const json& student, const json& exercise, const CurrentResults& results,
            Account& account) {
  const std::string whole = student.value("cause", "");
  if (!whole.empty()) {
    return row(exercise, is_nothing(whole) ? "missing" : "refused", 0, whole,
               student.value("reason", ""));
  }
  const std::string address = exercise.at("exercise");
  const json& answers = student.at("answers");
  const json answer = answers.value(address, json::object());
  if (answer.contains("cause")) {
    return row(exercise, "refused", 0, answer.at("cause"), answer.value("reason", ""));
  }
  if (!answer.contains("sha256")) {
    return row(exercise, "missing", 0, "missing", answer.value("missing", ""));
  }
  if (!account.is_open()) {
    return row(exercise, "time", 0, "student_budget",
               "the files before it used up the student's processor time (--limits student)");
  }
  const auto found = results.find({address, answer.at("sha256")});
  if (found == results.end()) return row(exercise, "infrastructure", 0, "not_judged");
  const json& result = *found->second;
  account.charge(result.value("charge_s", 0.0));
  return row(exercise, result.at("verdict"), result.at("points"), result.at("cause"));
}

// Says in a sentence or two why some of a student's rows were not judged.
std::string reason_of(const json& student, const json& rows) {
  const std::string whole = student.value("reason", "");
  if (!whole.empty()) return whole;
  std::string first;
  int refused = 0;
  for (const json& row : rows) {
    if (row.at("verdict") != "refused" || row.at("reason") == "") continue;
    if (refused++ == 0) first = row.at("reason");
  }
  if (refused < 2) return first;
  return text(first, "; and ", refused - 1, refused == 2 ? " other file is" : " other files are",
              " refused");
}

json about_of(const json& student, const json& columns) {
  json about = json::object();
  const json& cells = student.value("about", json::array());
  for (std::size_t i = 0; i < std::min(columns.size(), cells.size()); ++i) {
    about[columns[i].get<std::string>()] = cells[i];
  }
  return about;
}

}  // namespace

json grades_of(const std::vector<json>& records) {
  const json& plan = last_plan(records);
  const CurrentResults results = current_results(records);
  const Adjustments adjustments(records);
  const json columns = plan.value("columns", json::array());
  const double budget_s = budget_of(last_settings(records));
  json students = json::array();
  for (const json& student : plan.at("students")) {
    json rows = json::array();
    Account account(budget_s);
    for (const json& exercise : plan.at("exercises")) {
      rows.push_back(row_of(student, exercise, results, account));
    }
    json graded = {{"student", student.at("student")},
                   {"on_roster", student.at("on_roster")},
                   {"about", about_of(student, columns)},
                   {"reason", reason_of(student, rows)},
                   {"rows", std::move(rows)}};
    adjustments.adjust(graded);
    int points = 0, max_points = 0;
    for (const json& one : graded.at("rows")) {
      points += one.at("points").get<int>();
      max_points += one.at("max_points").get<int>();
    }
    graded["points"] = points;
    graded["max_points"] = max_points;
    students.push_back(std::move(graded));
  }
  return {{"seed_sha256", last_settings(records).value("seed_sha256", "")},
          {"exercises", plan.at("exercises")},
          {"columns", columns},
          {"students", std::move(students)}};
}

std::string grades_csv(const json& grades) {
  std::string out =
      "student,exercise,verdict,points,max_points,cause,reason,judged_points,note,comment\n";
  for (const json& student : grades.at("students")) {
    for (const json& row : student.at("rows")) {
      out += text(cell(student.at("student")), ",", cell(row.at("exercise")), ",",
                  cell(row.at("verdict")), ",", row.at("points").get<int>(), ",",
                  row.at("max_points").get<int>(), ",", cell(row.at("cause")), ",",
                  cell(row.at("reason")), ",", row.at("judged_points").get<int>(), ",",
                  cell(row.at("note")), ",", cell(row.at("comment")), "\n");
    }
  }
  return out;
}

std::string totals_csv(const json& grades) {
  std::string out = "student,points,max_points,graded,reason";
  const json columns = grades.value("columns", json::array());
  const std::set<std::string> own{"student", "points", "max_points", "graded", "reason"};
  for (const std::string name : columns) {  // "points" of a roster is "roster points" here
    out += "," + cell(own.contains(lower_case(name)) ? "roster " + name : name);
  }
  out += "\n";
  for (const json& student : grades.at("students")) {
    const auto& rows = student.at("rows");
    const bool graded = std::all_of(rows.begin(), rows.end(), [](const json& row) {
      return row.at("verdict") != "infrastructure" || row.at("by_hand") == true;
    });
    out += text(cell(student.at("student")), ",", student.at("points").get<int>(), ",",
                student.at("max_points").get<int>(), ",", graded ? "yes" : "no", ",",
                cell(student.at("reason")));
    for (const std::string name : columns) {
      out += "," + cell(student.at("about").value(name, ""));
    }
    out += "\n";
  }
  return out;
}

StudentReports::StudentReports(const std::vector<json>& records)
    : results_(current_results(records)) {
  for (const json& planned : last_plan(records).at("students")) {
    planned_[planned.at("student")] = &planned;
  }
}

json StudentReports::of(const json& student) const {
  json report = student;
  const auto planned = planned_.find(student.at("student"));
  if (planned == planned_.end()) return report;
  for (json& row : report.at("rows")) {
    const json answer =
        planned->second->at("answers").value(row.at("exercise").get<std::string>(), json::object());
    if (answer.contains("reason")) row["message"] = answer.at("reason");
    if (!answer.contains("sha256")) continue;
    row["sha256"] = answer.at("sha256");
    if (row.at("cause") == "student_budget") {
      row["message"] = "the files before this one used up the processor time of all of them";
      continue;
    }
    const auto found = results_.find({row.at("exercise"), answer.at("sha256")});
    if (found == results_.end()) continue;
    const json& judged = found->second->at("report");
    row["message"] = judged.value("message", "");
    row["checks"] = judged.value("checks", json::array());
  }
  return report;
}

}  // namespace lockstep::grader
