// Plays exchange: what each rank brings, room for what comes from the left.
#include "engine/collectives/exchange.hpp"

#include "grader/play/collective_play.hpp"

namespace lockstep::grader {

Bytes play(sim::PlayerCase& played) {
  return play_collective(
      played, [](comm::Peers& peers, std::span<const Tensor> buffers, const CollectiveCall&,
                 ReduceOp) { collectives::exchange(peers, buffers[0], buffers[1]); });
}

}  // namespace lockstep::grader
