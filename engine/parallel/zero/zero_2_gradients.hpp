// ZeRO stage 2's gradients: a bucket of gradients is reduced to their owners as soon as it is full,
// while backward computes the others. A rank keeps its range of the mean and lets the rest go.
//   N ranks; a bucket b with S elements of a rank's range, N·S with padding
//
//   a. A gradient that is final waits in its parameter until its bucket is full.
//   b. The bucket whose turn it is starts: its gradients are copied into one flat tensor, are gone
//      from the parameters, and travel by reduce-scatter. Before it starts, the bucket before it is
//      waited for, so no more than one is in flight.
//   c. What came for this rank's range is added to its sum, and the flat tensor ends.
//
// Invariants
//   1. Buckets start in the order of the plan, on every rank, whatever order gradients come in.
//   2. Nothing waits in on_gradient_ready, unless a bucket starts while the one before is in
//   flight.
// Source: [ZERO20] §5.2
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "engine/autograd/tape.hpp"
#include "engine/collectives/bucket.hpp"
#include "engine/comm/process_group.hpp"
#include "engine/parallel/zero/flat_shards.hpp"

namespace lockstep::zero {

class ShardedGradients {
 public:
  virtual ~ShardedGradients() = default;
  // This pass's gradient of parameter `index` is final. Called once for each parameter in each
  // pass. A grad from before the pass is part of it; an undefined grad counts as zeros.
  virtual void on_gradient_ready(std::size_t index) = 0;
  // After the last gradient. Waits for what is in flight; then all sums are there.
  //   Throws  CommError when a peer is lost
  virtual void finalize() = 0;
  // [S] this rank's range of a bucket: the mean over the ranks (each times 1/N, then their sum,
  // which can overflow where the mean fits), added up over the passes since the last zero_grad. The
  // padding is 0. Undefined before the first pass.
  virtual Tensor sum(std::size_t bucket) const = 0;
  // Makes all sums undefined.
  virtual void zero_grad() = 0;
};

// The gradients of one rank. A part: defined in solutions/11_sharding.
//   parameters  the same list on every rank. They must outlive the gradients
//   plan        the same on every rank; has each parameter exactly once, and one dtype per bucket
//   cuts        of each bucket: ranges in order (flat_shards) of its parameters, as the bucket
//               lists them
//   sums        the type in which passes add up: as wide as that of the gradients, or wider
//   Ensures     after a bucket has started, its parameters' grads are undefined
//   Comm        one reduce-scatter per bucket and pass, in the gradients' own type:
//               (N-1)/N·N·S elements sent per rank
//   Memory      the sums; of the gradients of a pass, those whose bucket has not started, and two
//               buckets in flat tensors
std::unique_ptr<ShardedGradients> make_zero_2_gradients(comm::ProcessGroup& group,
                                                        std::vector<Parameter*> parameters,
                                                        const collectives::BucketPlan& plan,
                                                        std::vector<FlatShards> cuts, DType sums);

}  // namespace lockstep::zero
