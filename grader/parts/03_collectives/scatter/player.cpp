// Plays scatter: blocks on the root, room for one on every rank.
#include "engine/collectives/scatter.hpp"

#include "grader/play/collective_play.hpp"

namespace lockstep::grader {

Bytes play(sim::PlayerCase& played) {
  return play_collective(
      played, [](comm::Peers& peers, std::span<const Tensor> buffers, const CollectiveCall& call,
                 ReduceOp) { collectives::scatter(peers, buffers[0], buffers[1], call.root); });
}

}  // namespace lockstep::grader
