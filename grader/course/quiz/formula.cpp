// Formulas are compared by value, so that any way of writing the right one passes.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "engine/base/error.hpp"
#include "engine/base/random.hpp"
#include "grader/course/quiz/rules.hpp"

namespace lockstep::grader {
namespace {

using nlohmann::json;
constexpr double rounding = 1e-9;  // the two sides differ by rounding only

// Two infinities are not the same value: a formula that divides by zero agrees with nothing.
bool same(double a, double b) {
  if (!std::isfinite(a) || !std::isfinite(b)) return false;
  return std::fabs(a - b) <= rounding * std::max(std::fabs(a), std::fabs(b)) + 1e-12;
}

// The values of the key's own formula are computed here.
bool agree(const std::vector<double>& said, const std::string& formula,
           const std::vector<Point>& points) {
  const FormulaValues keys = QuizReader().values(formula, points);
  if (!keys.problem.empty()) throw Error("the quiz key's formula " + formula + ": " + keys.problem);
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (!same(said[i], keys.values[i])) return false;
  }
  return true;
}

std::string text_of(const Point& point) {
  std::string out;
  for (const auto& [name, value] : point) out += text(out.empty() ? "" : ", ", name, " = ", value);
  return out;
}

// The few points of the key where running the real thing is cheap.
std::vector<Point> measured_points(const json& key) {
  std::vector<Point> points;
  for (const json& at : key.value("measured_at", json::array())) {
    Point point;
    for (const auto& [name, value] : at.items()) point[name] = value.get<double>();
    points.push_back(std::move(point));
  }
  return points;
}

// Every point has a value: "1/0" parses, and so does P/(N-N).
Reason cannot_be_computed(const std::string& answer, const Said& said) {
  for (const auto& [points, values] :
       {std::pair(&said.measured, &said.at_measured), std::pair(&said.drawn, &said.at_drawn)}) {
    for (std::size_t i = 0; i < points->size(); ++i) {
      if (std::isfinite((*values)[i])) continue;
      return text("\"", answer, "\" has no value for ", text_of((*points)[i]),
                  ": does it divide by zero?");
    }
  }
  return std::nullopt;
}

// The key's reason for a formula that is wrong in a known way.
Reason known_mistake(const json& key, const Said& said) {
  for (const json& mistake : key.value("mistake", json::array())) {
    if (agree(said.at_drawn, key_text(mistake, "formula"), said.drawn)) {
      return key_text(mistake, "because");
    }
  }
  return std::nullopt;
}

}  // namespace

Point drawn(const json& variables, std::uint64_t seed, int k) {
  Point point;
  std::uint64_t stream = 0;
  for (const auto& [name, range] : variables.items()) {
    const double low = range.at(0).get<double>(), high = range.at(1).get<double>();
    const double part = random_uniform(seed + stream++, static_cast<std::uint64_t>(k));
    point[name] = std::floor(low + part * (high - low + 1));
  }
  return point;
}

Reason differs_from_measured(const json& key, const Said& said, const QuizRules& rules) {
  if (!rules.measured) return std::nullopt;
  for (std::size_t i = 0; i < said.measured.size(); ++i) {
    const Point& point = said.measured[i];
    const double counted = rules.measured(key_text(key, "id"), point);
    if (!same(said.at_measured[i], counted)) {
      return text("for ", text_of(point), " your formula gives ", said.at_measured[i],
                  ", but a run counted ", counted);
    }
  }
  return std::nullopt;
}

Said said_by(const std::string& answer, const json& key, std::vector<Point> points,
             const QuizReader& reader) {
  Said said;
  if (answer.size() > formula_bytes_max) {
    said.problem = text("a formula may have ", formula_bytes_max, " characters, and this one has ",
                        answer.size());
    return said;
  }
  said.measured = measured_points(key);
  said.drawn = std::move(points);
  std::vector<Point> all = said.measured;
  all.insert(all.end(), said.drawn.begin(), said.drawn.end());
  const FormulaValues values = reader.values(answer, all);
  if (!values.problem.empty()) {
    said.problem = text("\"", answer, "\" cannot be computed: ", values.problem,
                        " (write * to multiply and / to divide)");
    return said;
  }
  const auto behind = values.values.begin() + static_cast<std::ptrdiff_t>(said.measured.size());
  said.at_measured.assign(values.values.begin(), behind);
  said.at_drawn.assign(behind, values.values.end());
  said.problem = cannot_be_computed(answer, said);
  return said;
}

Reason judge_formula(const json& key, const std::string& answer, const QuizRules& rules,
                     const QuizReader& reader) {
  std::vector<Point> points;
  for (int k = 0; k < points_sampled; ++k) {
    points.push_back(drawn(key_entry(key, "variables"), rules.seed, k));
  }
  const Said said = said_by(answer, key, points, reader);
  if (said.problem) return said.problem;
  if (const Reason measured = differs_from_measured(key, said, rules)) {
    const Reason mistake = known_mistake(key, said);
    return mistake ? *measured + ": " + *mistake : *measured;
  }
  if (agree(said.at_drawn, key_text(key, "formula"), said.drawn)) return std::nullopt;
  const Reason mistake = known_mistake(key, said);
  return mistake ? mistake : Reason(key_text(key, "otherwise"));
}

}  // namespace lockstep::grader
