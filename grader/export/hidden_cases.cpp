#include "grader/export/hidden_cases.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <string>

#include "engine/base/text.hpp"
#include "grader/export/class_book.hpp"
#include "grader/judge/causes.hpp"

namespace lockstep::grader {
namespace {

using nlohmann::json;

// Either, as [1], what stays although digits are in it: the name of a rank, a word, a formula or a
// place in a file, such as "ranks 2 and 3", float32, 16-bit, 2^31, 1/N or ring.cpp:31; or a number.
const std::regex& pieces() {
  static const std::regex all(
      R"((rank \d+|ranks \d+(?:(?:,|,? and|,? or| to) \d+)*|[A-Za-z_][\w.:^/-]*|)"
      R"(\d+(?:[-/][A-Za-z]|\^\d)\w*)|\d+(?:[.,]\d+)*(?:e[+-]?\d+)?)");
  return all;
}

// Calls number(its digits) for each number, and returns the text with what that gives in its place.
template <typename Number>
std::string with_numbers(const std::string& text, const Number& number) {
  std::string out;
  auto rest = text.begin();
  for (std::sregex_iterator one(text.begin(), text.end(), pieces()), end; one != end; ++one) {
    out.append(rest, (*one)[0].first).append((*one)[1].matched ? one->str() : number(one->str()));
    rest = (*one)[0].second;
  }
  return out.append(rest, text.end());
}

std::set<std::string> numbers_in(const std::string& text) {
  std::set<std::string> numbers;
  with_numbers(text, [&](const std::string& number) { return *numbers.insert(number).first; });
  return numbers;
}

// Without `expected`, in whatever form the sentence repeats it.
std::string without_text(std::string sentence, const std::string& expected) {
  const std::string dots = "…";
  for (std::size_t at = 0; (at = sentence.find(expected, at)) != std::string::npos;) {
    sentence.replace(at, expected.size(), dots);
    at += dots.size();
  }
  return sentence;
}

// The sentence tells a case by its numbers, and so it keeps none. A likely cause is the lab's own
// words, and loses the numbers of the case alone.
std::string without_case(const json& check) {
  const std::string expected = check.value("expected", "");
  std::string said = check.value("message", "");
  const std::size_t cause = lead_in(said);
  const auto of_case = numbers_in(text(check.value("where", ""), " ", expected));
  said = with_numbers(said.substr(0, cause), [](const std::string&) { return "…"; }) +
         with_numbers(said.substr(cause), [&](const std::string& number) {
           return of_case.contains(number) ? "…" : number;
         });
  const bool has_words = expected.find_first_not_of("0123456789.,e+- ") != std::string::npos;
  const std::string wanted = with_numbers(expected, [](const std::string&) { return "…"; });
  return has_words ? without_text(said, wanted) : said;
}

void hide_case(json& check, json& row) {
  if (!check.value("replay", "").empty()) {
    check["at_home"] = "./lab check " + handle_of(row.at("exercise"));
    const std::string said = without_case(check);
    if (row.value("message", "") == check.value("message", "")) row["message"] = said;
    check["message"] = said;
  }
  for (const char* key : {"replay", "expected", "seen", "where", "origin", "counters"}) {
    check.erase(key);
  }
}

// The number of right answers, or one reason, would give the letters away one by one: whoever may
// hand in again changes one answer at a time.
void hide_answers(json& row) {
  const json& checks = row.at("checks");
  const auto open = std::ranges::count_if(
      checks, [](const json& check) { return check.value("verdict", "") == "unsolved"; });
  row["message"] = text(std::ssize(checks) - open, " of ", std::ssize(checks),
                        " questions have an answer; which are right is told later");
  row["shown"] = "after_due_date";
  row["checks"] = json::array();
}

}  // namespace

json without_cases(json report) {
  for (json& row : report.at("rows")) {
    const auto checks = row.find("checks");
    if (checks == row.end() || checks->empty()) continue;  // it was not judged
    if (name_in(row.at("exercise")) == "quiz") {
      hide_answers(row);
      continue;
    }
    json hidden = *checks;
    for (json& check : hidden) hide_case(check, row);
    row["checks"] = std::move(hidden);
  }
  return report;
}

}  // namespace lockstep::grader
