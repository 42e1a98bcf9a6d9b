// A program that is its own launcher: its body runs as N ranks, each in a process forked from this
// one, as PyTorch's torch.multiprocessing.spawn does. For examples and tests; a training run is
// better off under ./lab run, which keeps logs and starts again.
//
//   launch::spawn(4, [](launch::World& world) {
//     const auto group = comm::make_gloo_group(*world.store, world.environment.rank,
//                                              world.environment.world_size);
//     …
//   });
#pragma once

#include <functional>

#include "engine/base/error.hpp"
#include "engine/launch/world.hpp"

namespace lockstep::launch {

// A rank failed; what() is the launcher's report: who was the first, how it ended, what it said.
struct RanksFailed : CommError {
  using CommError::CommError;
};

// The body of one rank. It returns for success and throws for failure; the world is left for it.
using RankBody = std::function<void(World& world)>;

struct SpawnOptions {
  double grace_s = 0.5;  // between SIGTERM and SIGKILL when ranks are stopped
};

// Runs `body` on every rank and returns when the last has ended.
//   Ensures   what the body sees of this process is a copy: nothing it writes to memory comes back;
//             descriptors that are closed on exec are closed, handlers of signals are reset;
//             no rank is left, also when this throws
//   Requires  no other thread in this process, and no child of its own during the call
//   Throws    RanksFailed when a rank throws, exits with another code than 0, or is killed; the
//             others were stopped. UsageError when ranks < 1
//   Source    PyTorch, torch/multiprocessing/spawn.py
void spawn(int ranks, const RankBody& body, const SpawnOptions& options = {});

}  // namespace lockstep::launch
