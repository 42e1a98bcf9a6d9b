// Fully sharded data parallelism, without prefetch: a rank keeps its range of each unit's
// parameters, and has the unit whole only while the unit computes. ShardedUnits
// (sharded_units.hpp) is the same for a training run: it gathers ahead, and its collectives
// overlap.
//   N ranks; C elements of a unit's parameters, S of a rank's range of them, N·S with padding
//
//   around a pass      no_shard      shard_grad_op             full_shard
//   before forward                   all-gather                all-gather
//   after forward                                              free
//   before backward                                            all-gather
//   after backward     all-reduce    reduce-scatter, free      reduce-scatter, free
//
// Elements sent per rank and pass: 2, 2 and 3 times (N-1)/N·N·S of each unit. The last unit's
// backward pass follows its forward pass at once, so full_shard may keep it in between, and sends
// less.
// Source: [ZERO20] §5.3; [ZGV23] §3, §3.2 for the strategies, §3.3.1 for the unit that is kept
#pragma once

#include <memory>
#include <vector>

#include "engine/comm/process_group.hpp"
#include "engine/nn/units.hpp"
#include "engine/parallel/zero/flat_shards.hpp"
#include "engine/parallel/zero/unit_plan.hpp"

namespace lockstep::zero {

// A unit, as one rank has it.
struct UnitShard {
  std::vector<Parameter*> parameters{};  // of the model, in the order of the cut
  std::vector<Shape> shapes{};           // of each
  // Ranges in order (flat_shards), of the group's ranks; of no_shard, of one rank: S = C.
  FlatShards cut{};
  Tensor values{};     // [S] this rank's range of the parameters, its padding 0
  Tensor gradients{};  // [S] of the passes since it was last undefined; its padding 0
};

// Is told of each unit's passes, and gathers, frees and reduces (nn::UnitWatch). A part: defined in
// solutions/11_sharding.
//   units     of the model, in order; the same cuts on every rank. They must outlive the watch. The
//             caller updates `values` between steps, and then takes `gradients` away
//   sharding  no_shard, shard_grad_op or full_shard
//   Requires  every forward pass is followed by its backward pass before the next one begins
//   Ensures   in its unit's passes, each parameter's value is the whole, as the ranges of all ranks
//             are at this moment. The value of a unit that is freed is undefined.
//             After a unit's backward pass, `gradients` has the mean over the ranks (each times
//             1/N, then their sum) of this rank's range, added to what was there. A grad that is
//             undefined counts as zeros. The grads of the parameters are undefined
//   Comm      one collective of a unit where the table has one
//   Memory    of full_shard, one unit's values whole at a time; of shard_grad_op, those between
//             forward and backward; a unit's gradients whole from its backward pass to their
//             reduction
//   Throws    CommError when a peer is lost
std::unique_ptr<nn::UnitWatch> make_fully_sharded(comm::ProcessGroup& group,
                                                  std::vector<UnitShard>& units, Sharding sharding);

}  // namespace lockstep::zero
