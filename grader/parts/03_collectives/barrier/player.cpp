// Plays barrier: the judge is asked before every call, and may hold the rank up, and told after it.
#include "grader/parts/03_collectives/barrier/case.hpp"

#include "engine/collectives/barrier.hpp"
#include "grader/play/ask.hpp"
#include "grader/play/collective_play.hpp"

namespace lockstep::grader {

Bytes play(sim::PlayerCase& played) {
  return play_collective(played, [&](comm::Peers& peers, std::span<const Tensor> buffers,
                                     const CollectiveCall&, ReduceOp) {
    tell(played.port, TurnstileCall{});
    collectives::barrier(peers, buffers[0]);
    tell(played.port, TurnstileCall{});
  });
}

}  // namespace lockstep::grader
