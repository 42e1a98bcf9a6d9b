// Distributed data parallel: ddp::Ddp averages in buckets, while backward goes on.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "engine/parallel/ddp/ddp.hpp"
#include "engine/parallel/ddp/join.hpp"
#include "engine/train/strategies/whole_model.hpp"

namespace lockstep::train {

// Is told the hook of a strategy and returns the one that DDP starts instead, which starts the
// first: to see when buckets travel.
using WatchHook = std::function<collectives::CommHook&(collectives::CommHook&)>;

// The communication hook of the strategy, and who watches it. Without a hook, a watcher sees the
// mean that DDP computes without one, bit for bit.
struct Hooked {
  std::unique_ptr<collectives::CommHook> hook{};
  WatchHook watch{};
};

// Takes any number of batches a step; gradients travel with the last one.
//   options  its hook is used where `hooked` has neither a hook nor a watcher
//   join     given: ranks may have no batches in the last steps of an epoch (join.hpp), and a
//            step's loss is the mean of those that have
//   Ensures  replicas are rank 0's
//   Comm     as Ddp; the loss rides along as one number. With `join`, as step_with_join and, at the
//            end of an epoch, end_join and share_state
//   Throws   as Ddp
std::unique_ptr<Strategy> make_ddp(comm::ProcessGroup& group, Replica replica, double clip_norm,
                                   const ddp::Options& options, Hooked hooked = {},
                                   std::optional<ddp::JoinDivide> join = std::nullopt);

}  // namespace lockstep::train
