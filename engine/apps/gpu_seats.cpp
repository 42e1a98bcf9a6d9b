// Which GPU each rank of a machine takes. Needs no NCCL.
#include "engine/apps/gpu_ranks.hpp"
#include "engine/apps/program.hpp"

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

}  // namespace lockstep::apps
