#include "grader/course/quiz/answers.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "engine/base/text.hpp"
#include "grader/course/quiz/rules.hpp"
#include "grader/course/text/quantity.hpp"

namespace lockstep::grader {
namespace {

using nlohmann::json;

std::string upper(std::string letters) {
  for (char& c : letters) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return letters;
}

std::string separated(const std::string& letters, const std::string& by) {
  std::string out;
  for (const char letter : letters) out += (out.empty() ? "" : by) + std::string(1, letter);
  return out;
}

struct Edge {
  char before, after;
};

std::vector<Edge> edges_of(const json& rules) {
  std::vector<Edge> edges;
  for (const json& edge : rules.at("edge")) {
    edges.push_back({edge.at("before").get<std::string>().front(),
                     edge.at("after").get<std::string>().front()});
  }
  return edges;
}

// Each step as soon as everything before it is done, the first of `preferred` first; "" when the
// edges go in a circle.
std::string sorted_by(const std::vector<Edge>& edges, std::string preferred) {
  std::string order;
  while (!preferred.empty()) {
    const auto free = [&](char step) {
      return std::ranges::none_of(edges, [&](const Edge& edge) {
        return edge.after == step && preferred.find(edge.before) != std::string::npos;
      });
    };
    const auto next = std::ranges::find_if(preferred, free);
    if (next == preferred.end()) return "";
    order += *next;
    preferred.erase(next);
  }
  return order;
}

// The answer's order with that edge violated.
std::string violating(const std::vector<Edge>& edges, std::size_t which, const std::string& order) {
  std::vector<Edge> others = edges;
  others[which] = {edges[which].after, edges[which].before};
  const std::string alone = sorted_by(others, order);
  if (!alone.empty()) return alone;
  std::string moved = order;
  moved.erase(moved.find(edges[which].after), 1);
  return moved.insert(moved.find(edges[which].before), 1, edges[which].after);
}

std::vector<std::string> other_orders(const json& rules) {
  const std::string order = letters_of(rules.at("answer").get<std::string>());
  std::vector<std::string> others{separated(upper(order), ", ")};
  std::string preferred = order;
  std::ranges::reverse(preferred);
  const std::string another = sorted_by(edges_of(rules), preferred);
  if (another != order) others.push_back(another);
  return others;
}

std::vector<WrongAnswer> wrong_orders(const json& rules) {
  const std::string order = letters_of(rules.at("answer").get<std::string>());
  const std::vector<Edge> edges = edges_of(rules);
  std::vector<WrongAnswer> wrong;
  for (std::size_t i = 0; i < edges.size(); ++i) {
    wrong.push_back(
        {separated(violating(edges, i, order), " "), misordered(rules.at("edge").at(i))});
  }
  wrong.push_back({separated(order.substr(0, order.size() - 1), " "), "exactly once; you wrote"});
  return wrong;
}

std::string digits(double value) {
  char out[40];
  std::snprintf(out, sizeof out, "%.15g", value);
  return out;
}

struct RightNumber {
  explicit RightNumber(const json& rules)
      : value(rules.at("value")),
        width(tolerance_of(rules) * std::fabs(value)),
        unit(rules.value("unit", "")),
        counts(rules.value("counts", "")) {}

  // With its unit, so that it can be read.
  std::string written(double number) const {
    return digits(number) + (unit.empty() ? "" : " ") + unit;
  }

  double value, width;
  std::string unit, counts;
};

std::vector<std::string> other_numbers(const json& rules) {
  const RightNumber right(rules);
  std::vector<std::string> others{right.written(right.value + 0.9 * right.width),
                                  right.written(right.value - 0.9 * right.width)};
  if (!right.counts.empty()) others.push_back(digits(right.value) + " " + right.counts);
  if (right.counts == "percent") others.push_back(digits(right.value) + " %");
  if (right.unit.empty()) return others;
  const double bytes = right.value * bytes_of_unit(right.unit);
  for (const char* unit : {"B", "MB", "GiB"}) {
    others.push_back(digits(bytes / bytes_of_unit(unit)) + " " + unit);
  }
  return others;
}

// Outside the tolerance, and no known mistake.
WrongAnswer beyond_tolerance(const json& rules, const RightNumber& right) {
  const double step = 1.1 * right.width + 2 * absolute_tolerance;
  for (const double away : {step, -step, 3 * step, -3 * step}) {
    const double value = right.value + away;
    const auto is_value = [&](const json& mistake) {
      const double known = mistake.at("value");
      const double near = 1.1 * tolerance_of(rules) * std::fabs(known) + 2 * absolute_tolerance;
      return std::fabs(value - known) <= near;
    };
    if (std::ranges::none_of(rules.at("mistake"), is_value)) {
      return {right.written(value), rules.at("otherwise")};
    }
  }
  return {right.written(1e6 * right.value + 1), rules.at("otherwise")};
}

std::vector<WrongAnswer> wrong_numbers(const json& rules) {
  const RightNumber right(rules);
  std::vector<WrongAnswer> wrong;
  for (const json& mistake : rules.at("mistake")) {
    wrong.push_back({right.written(mistake.at("value")), mistake.at("because")});
  }
  wrong.push_back(beyond_tolerance(rules, right));
  if (right.unit.empty()) return wrong;
  wrong.push_back({digits(right.value), "needs its unit"});
  const std::string binary = upper(right.unit.substr(0, 1)) + "iB";  // GB to GiB
  if (right.unit.size() == 2) wrong.push_back({digits(right.value) + " " + binary, wrong_unit()});
  return wrong;
}

std::vector<std::string> other_formulas(const json& rules) {
  std::vector<std::string> others = rules.at("also");
  others.push_back("1*(" + rules.at("answer").get<std::string>() + ")");
  return others;
}

std::vector<WrongAnswer> wrong_formulas(const json& rules) {
  std::vector<WrongAnswer> wrong;
  for (const json& mistake : rules.at("mistake")) {
    wrong.push_back({mistake.at("formula"), mistake.at("because")});
  }
  const std::string right = rules.at("answer");
  const bool measured = rules.contains("measured_at");  // then a run says what it counted
  wrong.push_back({"1.001*(" + right + ")",
                   measured ? "but a run counted" : rules.at("otherwise").get<std::string>()});
  wrong.push_back({"(" + right, "cannot be computed"});
  return wrong;
}

}  // namespace

std::vector<std::string> other_right_answers(const json& rules) {
  const std::string type = rules.at("type");
  if (type == "choice") return {upper(rules.at("answer").get<std::string>()) + "."};
  if (type == "order") return other_orders(rules);
  return type == "number" ? other_numbers(rules) : other_formulas(rules);
}

std::vector<WrongAnswer> wrong_answers(const json& rules) {
  const std::string type = rules.at("type");
  if (type == "order") return wrong_orders(rules);
  if (type == "number") return wrong_numbers(rules);
  if (type == "formula") return wrong_formulas(rules);
  std::vector<WrongAnswer> wrong;
  for (const auto& [letter, reason] : rules.at("wrong").items()) {
    wrong.push_back({letter, reason.get<std::string>()});
  }
  const std::string beyond(1, static_cast<char>('a' + wrong.size() + 1));
  wrong.push_back({beyond, wrong_letter(beyond)});
  return wrong;
}

}  // namespace lockstep::grader
