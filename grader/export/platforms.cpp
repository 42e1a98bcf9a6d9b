#include "grader/export/platforms.hpp"

#include <nlohmann/json.hpp>

#include "grader/export/class_book.hpp"

namespace lockstep::grader {
namespace {

using nlohmann::json;

// Several lines for a person: why, where, and how to see it again.
std::string told_of(const json& row) {
  std::string out = row.at("verdict").get<std::string>();
  const auto add = [&](const std::string& label, const std::string& content) {
    if (!content.empty()) out += "\n" + label + content;
  };
  if (row.at("verdict") != "pass") {
    add("", sentence_of(row));
    if (const json* check = first_failing(row); check != nullptr) {
      add("first failing check: ", check->value("name", ""));
      add("where: ", check->value("where", ""));
      add("to see it again: ", check->value("replay", ""));
      add("the same checks with other cases: ", check->value("at_home", ""));
    }
  }
  add("points: ", row.at("note"));
  add("comment: ", row.at("comment"));
  return out;
}

enum class Sum : unsigned char { told, hidden };

std::string said_of_all(const json& report, Sum sum = Sum::told) {
  std::string out = std::to_string(report.at("points").get<int>()) + " of " +
                    std::to_string(report.at("max_points").get<int>()) + " points";
  if (sum == Sum::hidden) out = "The points are shown after the due date.";
  for (const std::string& said : {note_on_open_rows(report.at("rows")), report.value("reason", ""),
                                  report.value("comment", "")}) {
    if (!said.empty()) out += "\n" + said;
  }
  return out;
}

bool is_full(const json& row) { return status_of(row) == RowStatus::full; }

// Why nothing of the hand-in could be graded; empty when something was.
std::string why_not_gradable(const json& report) {
  if (report.at("points") > 0) return "";
  for (const json& row : report.at("rows")) {
    const std::string verdict = row.at("verdict");
    if (verdict != "missing" && verdict != "refused" && !is_open(row)) return "";
  }
  for (const std::string& said :
       {report.value("reason", ""), note_on_open_rows(report.at("rows"))}) {
    if (!said.empty()) return said;
  }
  return "nothing that counts was handed in";
}

std::string line_of(const json& document) {
  return document.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string page_of(const json& document) {
  return document.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string gradescope_json(const json& report) {
  json tests = json::array();
  Sum sum = Sum::told;  // Gradescope shows none where a test is hidden
  for (const json& row : report.at("rows")) {
    json test = {{"name", row.at("exercise")},
                 {"output", told_of(row)},
                 {"tags", json::array({lesson_of(row.at("exercise"))})},
                 {"visibility", row.value("shown", "visible")}};
    if (row.contains("shown")) sum = Sum::hidden;
    if (!is_open(row)) {
      test["score"] = row.at("points");
      test["max_score"] = row.at("max_points");
      test["status"] = is_full(row) ? "passed" : "failed";
    }
    tests.push_back(std::move(test));
  }
  return page_of({{"score", report.at("points")},
                  {"output", said_of_all(report, sum)},
                  {"visibility", "visible"},
                  {"stdout_visibility", "hidden"},
                  {"tests", std::move(tests)}});
}

std::string autolab_output(const json& report) {
  json feedback = {{"_presentation", "semantic"}, {"stages", json::array()}};
  json scores = json::object();
  for (const json& row : report.at("rows")) {
    if (is_open(row)) continue;  // a problem without a score, and no feedback without a result
    const std::string lesson = lesson_of(row.at("exercise")), name = name_in(row.at("exercise"));
    if (!feedback.contains(lesson)) feedback["stages"].push_back(lesson);
    json told = {{"passed", is_full(row)}};
    if (!is_full(row)) told["hint"] = told_of(row);
    feedback[lesson][name] = std::move(told);
    scores[handle_of(row.at("exercise"))] = row.at("points");
  }
  return said_of_all(report) + "\n" + line_of(feedback) + "\n" + line_of({{"scores", scores}}) +
         "\n";
}

std::string prairielearn_json(const json& report) {
  const std::string reason = why_not_gradable(report);
  if (!reason.empty()) {
    return page_of({{"gradable", false}, {"format_errors", json::array({reason})}});
  }
  double most = 0;  // of the rows that have points
  json tests = json::array();
  for (const json& row : report.at("rows")) {
    json test = {
        {"name", row.at("exercise")}, {"message", row.at("verdict")}, {"output", told_of(row)}};
    if (!is_open(row)) {
      test["points"] = row.at("points");
      test["max_points"] = row.at("max_points");
      most += row.at("max_points").get<double>();
    }
    tests.push_back(std::move(test));
  }
  return page_of({{"gradable", true},
                  {"score", most > 0 ? report.at("points").get<double>() / most : 0.0},
                  {"message", said_of_all(report)},
                  {"tests", std::move(tests)}});
}

}  // namespace lockstep::grader
