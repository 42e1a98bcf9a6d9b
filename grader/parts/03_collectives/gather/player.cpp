// Plays gather: a block of each rank, room for all of them on the root.
#include "engine/collectives/gather.hpp"

#include "grader/play/collective_play.hpp"

namespace lockstep::grader {

Bytes play(sim::PlayerCase& played) {
  return play_collective(
      played, [](comm::Peers& peers, std::span<const Tensor> buffers, const CollectiveCall& call,
                 ReduceOp) { collectives::gather(peers, buffers[0], buffers[1], call.root); });
}

}  // namespace lockstep::grader
