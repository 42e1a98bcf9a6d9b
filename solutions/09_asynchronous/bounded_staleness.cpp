// Task: decide whether a worker may start its next step. It may start when it is at most `bound`
// steps ahead of the slowest active worker. The contract is in
// engine/parallel/async_sgd/bounded_staleness.hpp.
#include "engine/parallel/async_sgd/bounded_staleness.hpp"

#include <algorithm>

#include "engine/base/error.hpp"

namespace lockstep::async_sgd {

bool may_start(std::span<const std::int64_t> clocks, std::span<const bool> finished, int worker,
               std::int64_t bound) {
  LOCKSTEP_CHECK(clocks.size() == finished.size(), "may_start: ", clocks.size(), " clocks, but ",
                 finished.size(), " workers that are finished or not; both are by worker");
  LOCKSTEP_CHECK(worker >= 0 && worker < std::ssize(clocks), "may_start: there is no worker ",
                 worker, " among ", clocks.size());
  LOCKSTEP_CHECK(bound >= 0, "may_start: a bound of ", bound,
                 " steps; 0 keeps workers in step, and unbounded lets them run");
  const auto self = static_cast<std::size_t>(worker);
  LOCKSTEP_CHECK(!finished[self], "may_start: worker ", worker,
                 " has finished, and starts no step any more");
  for (std::size_t w = 0; w < clocks.size(); ++w) {
    LOCKSTEP_CHECK(clocks[w] >= 0, "may_start: worker ", w, " has finished ", clocks[w], " steps");
  }
  // >>> your code
  std::int64_t slowest = clocks[self];
  for (std::size_t w = 0; w < clocks.size(); ++w) {
    if (!finished[w]) slowest = std::min(slowest, clocks[w]);
  }
  return clocks[self] - slowest <= bound;
  // <<< your code
}

}  // namespace lockstep::async_sgd
