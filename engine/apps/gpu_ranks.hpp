// What connects ranks that have a GPU each.
#pragma once

#include <utility>

#include "engine/apps/program.hpp"
#include "engine/apps/ranks.hpp"
#include "engine/comm/nccl.hpp"
#include "engine/comm/stores/memory_store.hpp"
#include "engine/gpu/open_gpu.hpp"

namespace lockstep::apps {

// The ranks that a launcher started, or this process alone: `gpu` is this rank's, and outlives what
// is returned. The host's half of the group talks by `transport`.
//   Throws  Lacking where the build has no NCCL; what join_ranks and make_nccl_group do
inline Ranks join_gpus(Device& gpu, comm::Transport transport = comm::Transport::automatic) {
  Ranks ranks = join_ranks(transport);
  if (!ranks.joined) ranks.own_store = comm::make_memory_store();
  comm::Store& store = ranks.joined ? *ranks.joined->store : *ranks.own_store;
  try {
    ranks.group = comm::make_nccl_group(store, gpu, std::move(ranks.group));
  } catch (const gpu::GpuError& error) {
    throw Lacking(error.what());
  }
  return ranks;
}

}  // namespace lockstep::apps
