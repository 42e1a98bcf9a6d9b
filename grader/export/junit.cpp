#include "grader/export/junit.hpp"

#include <nlohmann/json.hpp>
#include <utility>

#include "engine/base/text.hpp"
#include "grader/export/class_book.hpp"
#include "grader/export/escaped.hpp"

namespace lockstep::grader {
namespace {

using nlohmann::json;

struct Suite {
  std::string cases;
  int tests = 0, failures = 0, errors = 0, skipped = 0;
};

std::string attribute(const char* name, const std::string& value) {
  return text(" ", name, "=\"", escaped_markup(value), "\"");
}

std::string outcome(const json& row, Suite& suite) {
  if (row.at("verdict") == "missing" && status_of(row) == RowStatus::missing) {
    ++suite.skipped;
    return text("<skipped>", escaped_markup(sentence_of(row)), "</skipped>");
  }
  const std::string sentence = sentence_of(row);
  if (is_open(row)) {
    ++suite.errors;
    return text("<error", attribute("message", sentence), attribute("type", "infrastructure"), ">",
                escaped_markup(sentence), "</error>");
  }
  if (status_of(row) == RowStatus::full) return "";
  ++suite.failures;
  std::string more = text(row.at("points").get<int>(), " of ", row.at("max_points").get<int>(),
                          " points\n", sentence);
  if (const json* check = first_failing(row); check != nullptr) {
    more += "\nfirst failing check: " + check->value("name", "");
    for (const auto& [label, key] : {std::pair("to see it again", "replay"),
                                     std::pair("the same checks with other cases", "at_home")}) {
      if (check->contains(key)) more += text("\n", label, ": ", check->value(key, ""));
    }
  }
  const std::string note = row.at("note");
  if (!note.empty()) more += "\n" + note;
  return text("<failure", attribute("message", sentence), attribute("type", row.at("verdict")), ">",
              escaped_markup(more), "</failure>");
}

}  // namespace

std::string junit_xml(const json& report) {
  std::vector<std::pair<std::string, Suite>> suites;
  for (const json& row : report.at("rows")) {
    const std::string lesson = lesson_of(row.at("exercise"));
    if (suites.empty() || suites.back().first != lesson) suites.emplace_back(lesson, Suite{});
    Suite& suite = suites.back().second;
    ++suite.tests;
    suite.cases += text("  <testcase", attribute("classname", lesson),
                        attribute("name", handle_of(row.at("exercise"))), ">", outcome(row, suite),
                        "</testcase>\n");
  }
  std::string out = text("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites",
                         attribute("name", report.at("student")), ">\n");
  for (const auto& [lesson, suite] : suites) {
    out +=
        text(" <testsuite", attribute("name", lesson), attribute("tests", text(suite.tests)),
             attribute("failures", text(suite.failures)), attribute("errors", text(suite.errors)),
             attribute("skipped", text(suite.skipped)), ">\n", suite.cases, " </testsuite>\n");
  }
  return out + "</testsuites>\n";
}

}  // namespace lockstep::grader
