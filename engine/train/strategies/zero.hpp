// Sharded state: ZeRO's stages and FSDP's strategies. A rank reads its own share of a batch, as
// with DDP, and holds a shard of what DDP holds in whole.
#pragma once

#include <memory>

#include "engine/parallel/zero/sharded_units.hpp"
#include "engine/strand/strand.hpp"
#include "engine/train/strategy.hpp"

namespace lockstep::train {

// The place where the gradients of several batches of one step add up.
enum class AccumulateIn : std::uint8_t {
  shards,  // each batch's gradients are reduced, and only shards kept: K times the bytes
  whole,   // gradients stay whole until the last batch, as in FSDP's no_sync
};

struct ZeroOptions {
  zero::ShardingOptions sharding{};
  AccumulateIn accumulate = AccumulateIn::shards;
  // Ranks that share one copy of the state; the rest hold further copies (hybrid_shard). They are
  // neighbours: ranks 0 to k-1 have the first. 0: all ranks. It divides the number of ranks.
  int shard_ranks = 0;
  // A rank that offloads state (sharding.offload) has its copies made by these strands; none: the
  // training makes them itself. Without a host, one is made: a second device on this machine.
  Strands* strands = nullptr;
  const HostMemory* host = nullptr;
  collectives::WatchWork watch{};  // of its collectives; nobody watches where it is empty
  // false: the plain form (plain_shards.hpp), which nobody watches. It has flat shards, gathers
  // nothing ahead, and does not offload.
  bool overlaps = true;
};

// The same shards, with the types that a run has besides its model's.
zero::ShardingOptions with_types(zero::ShardingOptions options, const Precision& precision);

// Makes the part of the recipe's model that a rank holds, in the form that the options say.
//   link  to the host where state is offloaded; must outlive it
std::unique_ptr<zero::ShardedModel> make_sharded_model(const Recipe& recipe, Device& device,
                                                       zero::ShardGroups groups,
                                                       const ZeroOptions& options,
                                                       zero::HostLink* link);

//   Throws  UsageError unless shard_ranks divides the number of ranks
void check(const ZeroOptions& options, int ranks);

// ZeroOptions::shard_ranks where each node has a copy of the state. One rank a node (no shards),
// and one node for all (no copies), are allowed.
//   ranks_per_node  0, or more than `ranks`: all are on one
//   Throws          UsageError when it does not divide `ranks`
int shard_ranks_by_node(int ranks, int ranks_per_node);

// Takes any number of batches a step.
//   clip_norm bound on the averaged gradient's global norm; 0: none
//   Comm      a step, by ShardedUnits: 2(N-1)/N · bytes of the parameters where they are kept, or
//             gathered once, 3(N-1)/N where they are gathered twice, less the last unit; an
//             all-reduce of one float64 for the loss, and one for the norm where it is bounded;
//             with a loss scale, one of a number that says whether gradients overflowed.
//             Over the link to the host, where state is offloaded: as host_shards.hpp
//   Throws    UsageError as check, and when options or models differ between ranks
std::unique_ptr<Strategy> make_zero(TrainingRanks ranks, Device& device, const Recipe& recipe,
                                    double clip_norm, const ZeroOptions& options);

}  // namespace lockstep::train
