// No minimum: looks for an active worker that is too far behind, the asking one left out.
#include "engine/base/error.hpp"
#include "engine/parallel/async_sgd/bounded_staleness.hpp"

namespace lockstep::async_sgd {

bool may_start(std::span<const std::int64_t> clocks, std::span<const bool> finished, int worker,
               std::int64_t bound) {
  LOCKSTEP_CHECK(clocks.size() == finished.size() && bound >= 0, "may_start: ", clocks.size(),
                 " clocks, a bound of ", bound);
  for (const std::int64_t clock : clocks) LOCKSTEP_CHECK(clock >= 0, "may_start: ", clock, " steps");
  const auto self = static_cast<std::size_t>(worker);
  for (std::size_t w = 0; w < clocks.size(); ++w) {
    if (w == self || finished[w]) continue;
    if (clocks[self] - clocks[w] > bound) return false;
  }
  return true;
}

}  // namespace lockstep::async_sgd
