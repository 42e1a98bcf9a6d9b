// Formulas are compared by value, so that any way of writing the right one passes.
#include <muParser.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "engine/base/error.hpp"
#include "engine/base/random.hpp"
#include "grader/course/quiz_rules.hpp"

namespace lockstep::grader {
namespace {

using nlohmann::json;
constexpr int points_sampled = 12;
constexpr double rounding = 1e-9;  // the two sides differ by rounding only

double value_of(const std::string& formula, Point point) {
  mu::Parser parser;
  for (auto& [name, value] : point) parser.DefineVar(name, &value);
  parser.SetExpr(formula);
  return parser.Eval();
}

// Whole numbers, as ranks and parameters are: variable v at point k lies in its range of the key.
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

// Two infinities are not the same value: a formula that divides by zero agrees with nothing.
bool same(double a, double b) {
  if (!std::isfinite(a) || !std::isfinite(b)) return false;
  return std::fabs(a - b) <= rounding * std::max(std::fabs(a), std::fabs(b)) + 1e-12;
}

bool agree(const std::string& a, const std::string& b, const std::vector<Point>& points) {
  return std::all_of(points.begin(), points.end(), [&](const Point& point) {
    return same(value_of(a, point), value_of(b, point));
  });
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
Reason cannot_be_computed(const std::string& answer, const std::vector<Point>& points) {
  try {
    for (const Point& point : points) {
      if (!std::isfinite(value_of(answer, point))) {
        return text("\"", answer, "\" has no value for ", text_of(point),
                    ": does it divide by zero?");
      }
    }
  } catch (const mu::Parser::exception_type& error) {
    return text("\"", answer, "\" cannot be computed: ", error.GetMsg(),
                " (write * to multiply and / to divide)");
  }
  return std::nullopt;
}

// The judge's own counters.
Reason differs_from_measured(const json& key, const std::string& answer, const QuizRules& rules) {
  if (!rules.measured) return std::nullopt;
  for (const Point& point : measured_points(key)) {
    const double counted = rules.measured(key_text(key, "id"), point);
    const double said = value_of(answer, point);
    if (!same(said, counted)) {
      return text("for ", text_of(point), " your formula gives ", said, ", but a run counted ",
                  counted);
    }
  }
  return std::nullopt;
}

}  // namespace

Reason judge_formula(const json& key, const std::string& answer, const QuizRules& rules) {
  const json& variables = key.at("variables");
  std::vector<Point> points;
  for (int k = 0; k < points_sampled; ++k) points.push_back(drawn(variables, rules.seed, k));
  for (std::vector<Point> computed : {measured_points(key), points}) {
    if (const Reason problem = cannot_be_computed(answer, computed)) return problem;
  }
  if (const Reason measured = differs_from_measured(key, answer, rules)) {
    for (const json& mistake : key.value("mistake", json::array())) {
      if (agree(answer, key_text(mistake, "formula"), points)) {
        return *measured + ": " + key_text(mistake, "because");
      }
    }
    return measured;
  }
  if (agree(answer, key_text(key, "formula"), points)) return std::nullopt;
  for (const json& mistake : key.value("mistake", json::array())) {
    if (agree(answer, key_text(mistake, "formula"), points)) return key_text(mistake, "because");
  }
  return key_text(key, "otherwise");
}

}  // namespace lockstep::grader
