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
    }
  }
  add("points: ", row.at("note"));
  add("comment: ", row.at("comment"));
  return out;
}

std::string said_of_all(const json& report) {
  std::string out = std::to_string(report.at("points").get<int>()) + " of " +
                    std::to_string(report.at("max_points").get<int>()) + " points";
  for (const char* key : {"reason", "comment"}) {
    const std::string said = report.value(key, "");
    if (!said.empty()) out += "\n" + said;
  }
  return out;
}

bool is_full(const json& row) { return fate_of(row) == Fate::full; }

// Whether a hand-in was there at all that could be graded.
bool is_gradable(const json& report) {
  for (const json& row : report.at("rows")) {
    if (row.at("verdict") != "missing" && row.at("verdict") != "refused") return true;
  }
  return report.at("points") > 0;
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
  for (const json& row : report.at("rows")) {
    tests.push_back({{"name", row.at("exercise")},
                     {"score", row.at("points")},
                     {"max_score", row.at("max_points")},
                     {"status", is_full(row) ? "passed" : "failed"},
                     {"output", told_of(row)},
                     {"tags", json::array({lesson_of(row.at("exercise"))})},
                     {"visibility", "visible"}});
  }
  return page_of({{"score", report.at("points")},
                  {"output", said_of_all(report)},
                  {"visibility", "visible"},
                  {"stdout_visibility", "hidden"},
                  {"tests", std::move(tests)}});
}

std::string autolab_output(const json& report) {
  json feedback = {{"_presentation", "semantic"}, {"stages", json::array()}};
  json scores = json::object();
  for (const json& row : report.at("rows")) {
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
  if (!is_gradable(report)) {
    const std::string reason = report.at("reason");
    return page_of(
        {{"gradable", false},
         {"format_errors",
          json::array({reason.empty() ? "nothing that counts was handed in" : reason})}});
  }
  const double most = report.at("max_points").get<double>();
  json tests = json::array();
  for (const json& row : report.at("rows")) {
    tests.push_back({{"name", row.at("exercise")},
                     {"points", row.at("points")},
                     {"max_points", row.at("max_points")},
                     {"message", row.at("verdict")},
                     {"output", told_of(row)}});
  }
  return page_of({{"gradable", true},
                  {"score", most > 0 ? report.at("points").get<double>() / most : 0.0},
                  {"message", said_of_all(report)},
                  {"tests", std::move(tests)}});
}

}  // namespace lockstep::grader
