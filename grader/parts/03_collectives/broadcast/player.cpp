// Plays broadcast: the root alone has the elements.
#include "engine/collectives/broadcast.hpp"

#include "grader/play/collective_play.hpp"

namespace lockstep::grader {

Bytes play(sim::PlayerCase& played) {
  return play_collective(
      played, [](comm::Peers& peers, std::span<const Tensor> buffers, const CollectiveCall& call,
                 ReduceOp) { collectives::broadcast(peers, buffers[0], call.root); });
}

}  // namespace lockstep::grader
