#include "grader/judge/repeats.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

namespace lockstep::grader {

double repeated_in(std::span<const std::byte> given) {
  constexpr std::uint64_t one_of = 16;
  constexpr std::size_t near = 32 << 10;
  std::vector<std::pair<std::uint64_t, std::size_t>> seen;  // window, and where it is
  std::uint64_t window = 0;
  for (std::size_t at = 0; at + sizeof window <= given.size(); ++at) {
    std::memcpy(&window, given.data() + at, sizeof window);
    // The content of a window decides whether it counts, so it does wherever it is again.
    if ((window * 0x9E3779B97F4A7C15) >> 60 == 0) seen.emplace_back(window, at);
  }
  std::ranges::sort(seen);
  const auto again = std::ranges::unique(seen, [](const auto& one, const auto& other) {
    return one.first == other.first && other.second - one.second <= near;
  });
  const auto all = static_cast<double>(given.size()) / one_of;
  const auto fresh = static_cast<double>(again.begin() - seen.begin());
  return all == 0 ? 0 : std::max(0.0, 1 - fresh / all);
}

}  // namespace lockstep::grader
