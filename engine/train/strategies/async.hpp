// Asynchronous training: workers push gradients to parameter servers and pull parameters, each at
// its own pace (parallel/async_sgd).
//   W ranks, each a worker; the first K serve too, each a part of the parameters, on strands beside
//   the training
#pragma once

#include <functional>
#include <string>

#include "engine/parallel/async_sgd/bounded_staleness.hpp"
#include "engine/strand/strand.hpp"
#include "engine/train/strategies/whole_model.hpp"

namespace lockstep::train {

struct AsyncOptions {
  std::int64_t staleness = async_sgd::unbounded;  // S
  int servers = 0;                                // K; 0: one on each rank
  Strands* strands = nullptr;                     // of this rank; always needed
  // A sentence about each worker that is lost, at once: called on rank 0, by a strand of its
  // server, also while the main strand computes.
  std::function<void(const std::string&)> tell{};
  // Called once on a rank without a server, when it has all of its connections: from then on the
  // others do without it.
  std::function<void()> on_spare{};
};

// Throws UsageError unless 0 <= K <= ranks.
void check(const AsyncOptions& options, int ranks);
// K: the ranks from this one on have no server, and may be lost.
int servers_of(const AsyncOptions& options, int ranks);

// Takes any number of batches a step; their gradients add up on the worker and are pushed once.
//   S = 0    one rank's losses and parameters: an update a step, with the mean of the workers'
//            gradients. step() returns the mean loss, the same on each worker
//   S > 0    an update a push, with the gradient times 1/W, clipped by its worker. A loss is the
//            worker's own, so it is the one number that not all trainers share
//   Alone    trainers() is this rank: workers have nothing to wait for among themselves. Rank 0
//            reports, evaluates the whole dataset, and saves. While steps follow, it does so with
//            the version of the moment, and the others go on
//   Lost     a worker without a server: the others go on, and what it would have read is not read.
//            A rank with a server ends the run: every worker gets a CommError with its number
//   Comm     making it: splits (async_sgd::connect). A step: 32 bytes and the parameters, to the
//            servers and back; for a rank that serves a part itself, without that part. On rank 0,
//            pieces() once an epoch: the parameters and the optimizer's state
//   Throws   as check; ContractError without strands
std::unique_ptr<Strategy> make_async(comm::ProcessGroup& group, Device& device,
                                     const Recipe& recipe, double clip_norm,
                                     const AsyncOptions& options);

}  // namespace lockstep::train
