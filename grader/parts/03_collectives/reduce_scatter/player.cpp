// Plays reduce_scatter: the whole of each rank, room for one block.
#include "engine/collectives/reduce_scatter.hpp"

#include "grader/play/collective_play.hpp"

namespace lockstep::grader {

Bytes play(sim::PlayerCase& played) {
  return play_collective(
      played, [](comm::Peers& peers, std::span<const Tensor> buffers, const CollectiveCall&,
                 ReduceOp op) { collectives::reduce_scatter(peers, buffers[0], buffers[1], op); });
}

}  // namespace lockstep::grader
