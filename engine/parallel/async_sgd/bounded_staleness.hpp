// Bounded staleness: how far a fast worker may run ahead. Without a bound it never waits, and may
// compute with parameters that are many updates old; with a bound of 0, all workers stay in step.
//
//   clocks   7  5  9       steps that each worker has finished; the slowest has 5
//   bound 4  worker 2 may start its next step: it is 4 ahead
//   bound 3  worker 2 waits until worker 1 has finished its sixth step
//
// The bound is on steps, not on updates. While a worker that has finished c steps computes, each of
// the N - 1 others may push its steps c - s + 1 to c + s + 1, so the parameters that it computes
// with lack up to (2s + 1)(N - 1) updates when it pushes.
#pragma once

#include <cstdint>
#include <limits>
#include <span>

namespace lockstep::async_sgd {

// No bound: a worker never waits for another one.
inline constexpr std::int64_t unbounded = std::numeric_limits<std::int64_t>::max();

// Returns true if a worker may start its next step: it is at most `bound` steps ahead of the
// slowest worker that is active.
//   clocks    steps that each worker has finished, by worker
//   finished  workers that take no more steps, because they are done or lost; no worker waits for
//             them
//   worker    the worker that asks; it is active
//   bound     s >= 0, or unbounded. With 0, it may start when no active worker has finished fewer
//             steps
//   Ensures   the slowest active worker may always start, so the workers cannot all wait
//   Throws    ContractError when the two lists differ in length, when `worker` is not in them or
//             has finished, when a clock is negative, and for a negative bound
//   Source    [HCC13], the condition of Stale Synchronous Parallel
bool may_start(std::span<const std::int64_t> clocks, std::span<const bool> finished, int worker,
               std::int64_t bound);

}  // namespace lockstep::async_sgd
