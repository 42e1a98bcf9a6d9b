#include "grader/judge/repeats.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

namespace lockstep::grader {

double repeated_in(std::span<const std::byte> given) {
  constexpr std::uint64_t one_of = 16;
  std::vector<std::uint64_t> seen;
  std::uint64_t window = 0;
  for (std::size_t at = 0; at + sizeof window <= given.size(); ++at) {
    std::memcpy(&window, given.data() + at, sizeof window);
    // The content of a window decides whether it counts, so it does wherever it is again.
    if ((window * 0x9E3779B97F4A7C15) >> 60 == 0) seen.push_back(window);
  }
  std::ranges::sort(seen);
  const auto again = std::ranges::unique(seen);
  seen.erase(again.begin(), again.end());
  const auto all = static_cast<double>(given.size()) / one_of;
  return all == 0 ? 0 : std::max(0.0, 1 - static_cast<double>(seen.size()) / all);
}

}  // namespace lockstep::grader
