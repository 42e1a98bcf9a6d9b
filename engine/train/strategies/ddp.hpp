// Distributed data parallel: ddp::Ddp averages in buckets, while backward goes on.
#pragma once

#include <memory>
#include <optional>

#include "engine/parallel/ddp/ddp.hpp"
#include "engine/parallel/ddp/join.hpp"
#include "engine/train/strategies/whole_model.hpp"

namespace lockstep::train {

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
std::unique_ptr<Strategy> make_ddp(TrainingRanks ranks, Replica replica, double clip_norm,
                                   const ddp::Options& options, Hooked hooked = {},
                                   std::optional<ddp::JoinDivide> join = std::nullopt);

// The options of a run of replicas that chooses neither another way nor the plain one.
struct DdpRun {
  std::int64_t accumulate = 1;  // the most batches of a step
  double clip_norm = 0;         // bound on the averaged gradient's global norm; 0: none
  ddp::Options options{};
  Hooked hooked{};
  std::optional<ddp::JoinDivide> join{};
};

// DDP, or the plain way where there is nothing to reduce: on one rank, for one batch a step. On one
// rank no gradient travels, so the hook is dropped.
std::unique_ptr<Strategy> make_ddp_or_plain(TrainingRanks ranks, Device& device,
                                            const Recipe& recipe, DdpRun run);

}  // namespace lockstep::train
