#include "grader/course/quiz/rules.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "engine/base/error.hpp"
#include "engine/base/units.hpp"
#include "grader/course/text/quantity.hpp"

namespace lockstep::grader {
namespace {

using nlohmann::json;

Reason no_number(const std::string& answer, const std::string& unit) {
  const bool comma = answer.find(',') != std::string::npos;
  return text("\"", answer, "\" is not a number: write a number such as ",
              unit.empty() ? "0.8" : "1.5 " + unit,
              comma ? " (commas separate groups of three digits, as in 1,234,567)" : "");
}

bool close(double a, double b, double tolerance) {
  return std::fabs(a - b) <= tolerance * std::fabs(b) + absolute_tolerance;
}

}  // namespace

std::string letters_of(const std::string& answer) {
  std::string letters;
  for (const char c : answer) {
    if (std::isalpha(static_cast<unsigned char>(c)) != 0) {
      letters += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
  }
  return letters;
}

std::string wrong_letter(const std::string& answer) {
  return text("\"", answer,
              "\" is not one of the letters of this question: answer with one letter");
}

Reason judge_choice(const json& key, const std::string& answer) {
  const std::string letter = letters_of(answer);
  if (letter == key_text(key, "right")) return std::nullopt;
  const json& wrong = key_entry(key, "wrong");
  if (!wrong.is_object()) throw BrokenKey("'wrong' is no table");
  if (const auto found = wrong.find(letter); found != wrong.end()) return found->get<std::string>();
  return wrong_letter(answer);
}

GivenOrder given_order(const json& key, const std::string& answer) {
  GivenOrder given{letters_of(answer), {}};
  std::string sorted = given.letters;
  std::sort(sorted.begin(), sorted.end());
  const std::string steps = key_text(key, "steps");
  if (sorted != steps) {
    given.problem = text("write each of the letters ", steps, " exactly once; you wrote ",
                         counted(std::ssize(sorted), "letter"), ": ", given.letters);
  }
  return given;
}

std::string misordered(const json& edge) {
  return key_text(edge, "after") + " comes before " + key_text(edge, "before") + ": " +
         key_text(edge, "because");
}

Reason judge_order(const json& key, const std::string& answer) {
  const auto [order, problem] = given_order(key, answer);
  if (problem) return problem;
  std::string reasons;
  for (const json& edge : key_entry(key, "edge")) {
    const std::string before = key_text(edge, "before");
    const std::string after = key_text(edge, "after");
    if (order.find(before) < order.find(after)) continue;
    reasons += (reasons.empty() ? "" : "\n") + misordered(edge);
  }
  return reasons.empty() ? Reason() : Reason(reasons);
}

GivenNumber given_number(const json& key, const std::string& answer) {
  const auto given = quantity_of(answer);
  const std::string unit = key.value("unit", "");
  const std::string counts = key.value("counts", "");
  const bool percent = given && given->unit == "%" && counts == "percent";
  const bool counted = given && (given->unit == counts || percent);  // "3,907 updates"
  if (!given || (unit.empty() && !given->unit.empty() && !counted)) {
    return {0, 0, no_number(answer, unit)};
  }
  if (unit.empty()) return {given->value, given->value, {}};
  if (given->unit.empty()) return {0, 0, "a number of bytes needs its unit: B, MB, GB, GiB, …"};
  const double scale = bytes_of_unit(given->unit);
  if (scale != 0) return {given->value * scale, given->value, {}};
  return {
      0, 0,
      text("\"", given->unit, "\" is not a unit of bytes: B, kB, MB, GB, TB, KiB, MiB, GiB, TiB")};
}

double scale_of(const json& key) {
  const std::string unit = key.value("unit", "");
  return unit.empty() ? 1 : bytes_of_unit(unit);
}

bool in_bytes(const json& key) { return !key.value("unit", "").empty(); }

double tolerance_of(const json& key) { return key.value("tolerance", 1e-9); }

std::string wrong_unit() {
  return "the digits match, but the unit does not: 1 GB is 10^9 bytes, 1 GiB is 2^30 bytes, and "
         "each step from k to M to G is a factor of 1,000 (or 1,024)";
}

Reason judge_number(const json& key, const std::string& answer) {
  const GivenNumber given = given_number(key, answer);
  if (given.problem) return given.problem;
  const double scale = scale_of(key), tolerance = tolerance_of(key);
  if (close(given.value, key_number(key, "value") * scale, tolerance)) return std::nullopt;
  if (in_bytes(key) && close(given.typed, key_number(key, "value"), tolerance)) return wrong_unit();
  for (const json& mistake : key.value("mistake", json::array())) {
    if (close(given.value, key_number(mistake, "value") * scale, tolerance)) {
      return key_text(mistake, "because");
    }
  }
  return key_text(key, "otherwise");
}

}  // namespace lockstep::grader
