// Simulated ranks with strands, as the tests of Horovod need them, and a model whose gradients are
// known.
#pragma once

#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "engine/autograd/operations.hpp"
#include "engine/comm/process_group.hpp"
#include "engine/parallel/horovod/distributed_optimizer.hpp"
#include "engine/sim/hosts/fiber_host.hpp"
#include "engine/strand/strand.hpp"

// Catch2's own macros belong to the test; a rank throws.
#define LOCKSTEP_EXPECT(...) LOCKSTEP_CHECK((__VA_ARGS__), "expected by a test, of every rank")

namespace lockstep::test {

// What a run on simulated ranks came to.
struct SimRun {
  std::string finding;              // of the simulator; empty: none
  std::vector<std::string> thrown;  // by each rank; empty: nothing
  double makespan_s = 0;
  // All of it in one text, to compare with "".
  std::string all() const;
};

using SimBody = std::function<void(comm::ProcessGroup& group, Strands& strands)>;
// Runs `body` on ranks that are fibers.
SimRun on_sim(int ranks, const SimBody& body);
// The same for bodies that compute: rank.port.compute().
using TimedBody = std::function<void(comm::ProcessGroup& group, sim::FiberRank& rank)>;
SimRun on_timed_sim(int ranks, const TimedBody& body, const sim::Options& options = {});

// Parameters named p0, p1, … of these sizes. The loss is the sum of x·p over the used ones, so each
// element of their gradients is x. Gradients come in the opposite order of `used`.
struct Weighted {
  std::deque<Parameter> all;
  std::vector<std::size_t> used;

  Weighted(const std::vector<std::int64_t>& counts, Device& device, DType dtype = DType::float64);
  std::vector<Parameter*> parameters();
  void backward(double x);
  // An element of the gradient of p<i>; NaN when it has none.
  double grad(std::size_t i, std::int64_t element = 0) const;
};

// The message of what `body` throws; "" if it throws nothing.
std::string message_of(const std::function<void()>& body);

}  // namespace lockstep::test
