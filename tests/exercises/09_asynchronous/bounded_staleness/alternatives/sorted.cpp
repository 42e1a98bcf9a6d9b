// The clocks of the active workers, sorted, and the bound taken off the worker's own clock.
#include <set>

#include "engine/base/error.hpp"
#include "engine/parallel/async_sgd/bounded_staleness.hpp"

namespace lockstep::async_sgd {

bool may_start(std::span<const std::int64_t> clocks, std::span<const bool> finished, int worker,
               std::int64_t bound) {
  LOCKSTEP_CHECK(clocks.size() == finished.size() && bound >= 0, "may_start: ", clocks.size(),
                 " clocks, a bound of ", bound);
  for (const std::int64_t clock : clocks) LOCKSTEP_CHECK(clock >= 0, "may_start: ", clock, " steps");
  std::multiset<std::int64_t> active;
  for (std::size_t w = 0; w < clocks.size(); ++w) {
    if (!finished[w]) active.insert(clocks[w]);
  }
  const std::int64_t needed = clocks[static_cast<std::size_t>(worker)] - bound;
  return *active.begin() >= needed;
}

}  // namespace lockstep::async_sgd
