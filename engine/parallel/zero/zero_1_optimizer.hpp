// ZeRO stage 1: every rank has all parameters and makes a gradient of each, but keeps Adam's state
// of its own range of the plan only. Nobody else could update that range, so its owner does, and
// tells the others.
//   N ranks; S elements of a rank's range, its padding included; Ψ = N·S elements
//
//   a. The gradients of a range are averaged on its owner alone: a reduce-scatter.
//   b. The owner updates its range, piece by piece.
//   c. Everybody gets every updated range: an all-gather.
//
// An all-reduce is a reduce-scatter and an all-gather, so this moves as many bytes as DDP does,
// with an N-th of the optimizer's state. Left out: overlap with backward, and master weights.
// Source: [ZERO20] §5.1, §7.2.1
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "engine/autograd/tape.hpp"
#include "engine/comm/process_group.hpp"
#include "engine/parallel/zero/flat_shards.hpp"
#include "engine/tensor/update_rules.hpp"

namespace lockstep::zero {

// Adam's state of one rank's range, laid out as the plan says.
struct AdamShard {
  Tensor first, second;      // [S] the moments; 0 in the padding
  std::int64_t updates = 0;  // that they have seen
};

struct Zero1Options {
  AdamRule rule{};  // but for the learning rate, which each step has of its own
  // Parameters with fewer dimensions are not decayed (optim::AdamOptions has the same).
  int decay_dims_min = 0;
};

// A run's work on the mean gradient of this rank's range, [S], before it is used. It may clip it in
// place, and communicate.
using BeforeUpdate = std::function<void(const Tensor& gradient)>;

class Zero1Optimizer {
 public:
  virtual ~Zero1Optimizer() = default;
  // One update of all parameters.
  //   learning_rate  of this update
  //   before_update  called once, between the reduction and the update; the update takes what it
  //             leaves in the tensor, whose padding it does not change. May be empty
  //   Requires  every rank of the group calls it, at the same rate
  //   Ensures   every parameter is what Adam on one device makes of it with the mean of the ranks'
  //             gradients (each times 1/N, then their sum), the same bits on all ranks. An
  //             undefined grad counts as zeros. What grad holds afterwards is not specified.
  //             The padding of the state stays 0
  //   Comm      2(N-1)/N·Ψ elements sent per rank
  //   Memory    between steps, the state of this rank's range and nothing else. Within a step, one
  //             buffer of N·S elements at a time besides, and two of S. The copy in which a group
  //             may reduce an average does not count
  //   Throws    CommError when a peer is lost
  virtual void step(double learning_rate, const BeforeUpdate& before_update) = 0;
  // The state after the last step: views, or copies.
  virtual AdamShard state() const = 0;
};

// The optimizer of one rank. A part: defined in solutions/11_sharding.
//   parameters  the same list with the same values on every rank; each has a value. They must
//               outlive the optimizer
//   plan        the same on every rank: whose each element is. Ranges of a flat tensor, rows, or
//               whole parameters; its pieces alone say so
//   state       of this rank's range, which the first step goes on with
std::unique_ptr<Zero1Optimizer> make_zero_1_optimizer(comm::ProcessGroup& group,
                                                      std::vector<Parameter*> parameters,
                                                      const FlatShards& plan,
                                                      const Zero1Options& options, AdamShard state);

}  // namespace lockstep::zero
