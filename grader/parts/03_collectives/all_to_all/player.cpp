// Plays all_to_all: blocks for every rank, room for one from every rank.
#include "engine/collectives/all_to_all.hpp"

#include "grader/play/collective_play.hpp"

namespace lockstep::grader {

Bytes play(sim::PlayerCase& played) {
  return play_collective(played, [](comm::Peers& peers, std::span<const Tensor> buffers,
                                    const CollectiveCall& call, ReduceOp) {
    collectives::all_to_all(peers, buffers[0], buffers[1], call.to_each, call.from_each);
  });
}

}  // namespace lockstep::grader
