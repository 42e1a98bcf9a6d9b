// Plays all_gather: a block of each rank, room for all of them.
#include "engine/collectives/all_gather.hpp"

#include "grader/play/collective_play.hpp"

namespace lockstep::grader {

Bytes play(sim::PlayerCase& played) {
  return play_collective(
      played, [](comm::Peers& peers, std::span<const Tensor> buffers, const CollectiveCall&,
                 ReduceOp) { collectives::all_gather(peers, buffers[0], buffers[1]); });
}

}  // namespace lockstep::grader
