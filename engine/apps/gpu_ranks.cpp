#include "engine/apps/gpu_ranks.hpp"

#include <utility>

#include "engine/apps/program.hpp"
#include "engine/comm/nccl.hpp"
#include "engine/comm/stores/memory_store.hpp"
#include "engine/gpu/open_gpu.hpp"

namespace lockstep::apps {

bool connects_gpus() { return true; }

Ranks join_gpus(Device& gpu, comm::Transport transport, Joined joined, int members) {
  Ranks ranks = join_ranks(transport, std::move(joined), members);
  if (!ranks.joined) ranks.own_store = comm::make_memory_store();
  comm::Store& store = ranks.joined ? *ranks.joined->store : *ranks.own_store;
  comm::NcclOptions options;
  options.pairs = ranks.pairs = std::make_shared<comm::NcclPairs>();
  try {
    ranks.group = comm::make_nccl_group(store, gpu, std::move(ranks.group), options);
  } catch (const gpu::GpuError& error) {
    throw Lacking(error.what());
  }
  return ranks;
}

}  // namespace lockstep::apps
