#include "engine/apps/gpu_ranks.hpp"

#include <utility>

#include "engine/apps/program.hpp"
#include "engine/comm/nccl.hpp"
#include "engine/comm/stores/memory_store.hpp"
#include "engine/gpu/open_gpu.hpp"

namespace lockstep::apps {
namespace {

Seat seat_of(int rank, int ranks) {
  Seat seat{rank};
  if (!launch::process_environment()("PAPER_DEVICES")) seat.paper = {text("devices=", ranks)};
  return seat;
}

}  // namespace

Seat seat_of_process() {
  const launch::Lookup lookup = launch::process_environment();
  if (!launch::is_launched(lookup)) return {};
  const launch::Environment environment = launch::read_environment(lookup);
  return seat_of(environment.local_rank, environment.local_world_size);
}

void check_gpus(const Arguments& arguments, int ranks) {
  const int gpus = gpus_shown(arguments, seat_of(0, ranks));
  if (gpus >= ranks) return;
  throw Lacking(text("--backend nccl gives each of ", ranks, " ranks a GPU of its own, but CUDA ",
                     "shows ", gpus, gpus == 1 ? " GPU" : " GPUs", " here; pass --ranks ", gpus,
                     arguments.flag("paper") ? "" : ", or add --paper to model them all"));
}

Ranks join_gpus(Device& gpu, comm::Transport transport) {
  Ranks ranks = join_ranks(transport);
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
