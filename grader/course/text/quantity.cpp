#include "grader/course/text/quantity.hpp"

#include <cctype>
#include <cmath>
#include <cstdlib>
#include <utility>
#include <vector>

namespace lockstep::grader {
namespace {

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

// "3,907" or "1_000_000" → the digits alone; nullopt for "1,6" and "12,34": separators stand
// before groups of three.
std::optional<std::string> without_separators(const std::string& whole) {
  std::string digits;
  std::size_t group = 0;
  bool grouped = false;
  for (const char c : whole) {
    if (is_digit(c)) {
      digits += c;
      ++group;
      continue;
    }
    if (group == 0 || group > 3 || (grouped && group != 3)) return std::nullopt;
    grouped = true;
    group = 0;
  }
  if (grouped && group != 3) return std::nullopt;
  return digits;
}

}  // namespace

double bytes_of_unit(const std::string& unit) {
  const std::vector<std::pair<std::string, double>> units{
      {"B", 1},          {"bytes", 1},      {"kB", 1e3},      {"KB", 1e3},
      {"MB", 1e6},       {"GB", 1e9},       {"TB", 1e12},     {"KiB", 0x1.0p10},
      {"MiB", 0x1.0p20}, {"GiB", 0x1.0p30}, {"TiB", 0x1.0p40}};
  for (const auto& [name, bytes] : units) {
    if (name == unit) return bytes;
  }
  return 0;
}

std::optional<Quantity> quantity_of(const std::string& answer) {
  std::size_t at = !answer.empty() && (answer[0] == '-' || answer[0] == '+') ? 1 : 0;
  const std::string sign = at == 1 && answer[0] == '-' ? "-" : "";
  std::string whole, rest;
  while (at < answer.size() && (is_digit(answer[at]) || answer[at] == ',' || answer[at] == '_')) {
    whole += answer[at++];
  }
  const auto take_digits = [&](std::size_t from) {
    rest += answer.substr(at, from - at);
    for (at = from; at < answer.size() && is_digit(answer[at]); ++at) rest += answer[at];
  };
  if (at < answer.size() && answer[at] == '.') take_digits(at + 1);
  if (at < answer.size() && (answer[at] == 'e' || answer[at] == 'E')) {
    std::size_t power = at + 1;
    if (power < answer.size() && (answer[power] == '-' || answer[power] == '+')) ++power;
    if (power < answer.size() && is_digit(answer[power])) take_digits(power);
  }
  const auto digits = without_separators(whole);
  if (!digits || (digits->empty() && (rest.size() < 2 || !is_digit(rest[1])))) return std::nullopt;
  Quantity quantity;
  quantity.value = std::strtod((sign + *digits + rest).c_str(), nullptr);
  if (!std::isfinite(quantity.value)) return std::nullopt;
  const std::size_t unit = answer.find_first_not_of(' ', at);
  if (unit != std::string::npos) quantity.unit = answer.substr(unit);
  return quantity;
}

}  // namespace lockstep::grader
