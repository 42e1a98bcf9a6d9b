// Plays reduce: every rank has elements, the root gets their reduction.
#include "engine/collectives/reduce.hpp"

#include "grader/play/collective_play.hpp"

namespace lockstep::grader {

Bytes play(sim::PlayerCase& played) {
  return play_collective(
      played, [](comm::Peers& peers, std::span<const Tensor> buffers, const CollectiveCall& call,
                 ReduceOp op) { collectives::reduce(peers, buffers[0], call.root, op); });
}

}  // namespace lockstep::grader
