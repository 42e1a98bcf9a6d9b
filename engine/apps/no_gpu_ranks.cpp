// Programs without NCCL's room, which start another one for ranks on GPUs.
#include "engine/apps/gpu_ranks.hpp"
#include "engine/base/error.hpp"

namespace lockstep::apps {

bool connects_gpus() { return false; }

Ranks join_gpus(Device&, comm::Transport, Joined, int) {
  throw ContractError("this program has no NCCL; ask connects_gpus() first");
}

}  // namespace lockstep::apps
