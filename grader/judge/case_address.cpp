#include "grader/judge/case_address.hpp"

#include <charconv>

#include "engine/base/text.hpp"

namespace lockstep::grader {

std::string text_of(const CaseAddress& address) {
  std::string out = text(address.number);
  for (const int step : address.way) out += text(".", step);
  return out;
}

std::optional<CaseAddress> case_address(std::string_view written) {
  std::vector<int> numbers;
  while (true) {
    const char* const end = written.data() + written.size();
    int value = 0;
    const auto [after, error] = std::from_chars(written.data(), end, value);
    if (error != std::errc() || value < 0) return std::nullopt;
    numbers.push_back(value);
    if (after == end) break;
    if (*after != '.') return std::nullopt;
    written.remove_prefix(static_cast<std::size_t>(after - written.data()) + 1);
  }
  if (numbers.front() < 1) return std::nullopt;
  return CaseAddress{numbers.front(), {numbers.begin() + 1, numbers.end()}};
}

}  // namespace lockstep::grader
