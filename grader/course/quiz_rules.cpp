#include "grader/course/quiz_rules.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "engine/base/error.hpp"
#include "grader/course/quantity.hpp"

namespace lockstep::grader {
namespace {

using nlohmann::json;

// "C, a;B" → "cab": the letters and nothing else, in lower case.
std::string letters_of(const std::string& answer) {
  std::string letters;
  for (const char c : answer) {
    if (std::isalpha(static_cast<unsigned char>(c)) != 0) {
      letters += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
  }
  return letters;
}

Reason no_number(const std::string& answer, const std::string& unit) {
  const bool comma = answer.find(',') != std::string::npos;
  return text("\"", answer, "\" is not a number: write a number such as ",
              unit.empty() ? "0.8" : "1.5 " + unit,
              comma ? " (commas separate groups of three digits, as in 1,234,567)" : "");
}

bool close(double a, double b, double tolerance) {
  return std::fabs(a - b) <= tolerance * std::fabs(b) + 1e-12;
}

}  // namespace

Reason judge_choice(const json& key, const std::string& answer) {
  const std::string letter = letters_of(answer);
  if (letter == key_text(key, "right")) return std::nullopt;
  const json& wrong = key_entry(key, "wrong");
  if (!wrong.is_object()) throw BrokenKey("'wrong' is no table");
  if (const auto found = wrong.find(letter); found != wrong.end()) return found->get<std::string>();
  return text("\"", answer,
              "\" is not one of the letters of this question: answer with one letter");
}

Reason judge_order(const json& key, const std::string& answer) {
  const std::string order = letters_of(answer);
  std::string sorted = order;
  std::sort(sorted.begin(), sorted.end());
  const std::string steps = key_text(key, "steps");
  if (sorted != steps) {
    return text("write each of the letters ", steps, " exactly once; you wrote ", order.size(),
                " letters: ", order);
  }
  std::string reasons;
  for (const json& edge : key_entry(key, "edge")) {
    const std::string before = key_text(edge, "before");
    const std::string after = key_text(edge, "after");
    if (order.find(before) < order.find(after)) continue;
    reasons += (reasons.empty() ? "" : "\n") + after + " comes before " + before + ": " +
               key_text(edge, "because");
  }
  return reasons.empty() ? Reason() : Reason(reasons);
}

Reason judge_number(const json& key, const std::string& answer) {
  const auto given = quantity_of(answer);
  const std::string unit = key.value("unit", "");
  const bool counted = given && given->unit == key.value("counts", "");  // "3,907 updates"
  if (!given || (unit.empty() && !given->unit.empty() && !counted)) return no_number(answer, unit);
  const double tolerance = key.value("tolerance", 1e-9);
  double scale = 1, given_scale = 1;
  if (!unit.empty()) {
    scale = bytes_of_unit(unit);
    given_scale = bytes_of_unit(given->unit);
    if (given->unit.empty()) return text("a number of bytes needs its unit: B, MB, GB, GiB, …");
    if (given_scale == 0) {
      return text("\"", given->unit,
                  "\" is not a unit of bytes: B, kB, MB, GB, TB, KiB, MiB, GiB, TiB");
    }
  }
  const double value = key_number(key, "value") * scale;
  const double seen = given->value * given_scale;
  if (close(seen, value, tolerance)) return std::nullopt;
  if (!unit.empty() && close(given->value, key_number(key, "value"), tolerance)) {
    return text(
        "the digits match, but the unit does not: 1 GB is 10^9 bytes, 1 GiB is 2^30 bytes, and "
        "each "
        "step from k to M to G is a factor of 1,000 (or 1,024)");
  }
  for (const json& mistake : key.value("mistake", json::array())) {
    if (close(seen, key_number(mistake, "value") * scale, tolerance)) {
      return key_text(mistake, "because");
    }
  }
  return key_text(key, "otherwise");
}

}  // namespace lockstep::grader
