// Plays a case of an all-reduce over messages.
#pragma once

#include "grader/play/collective_play.hpp"

namespace lockstep::grader {

inline Bytes play_all_reduce(sim::PlayerCase& played,
                             void (*part)(comm::Peers&, Tensor, ReduceOp)) {
  return play_collective(
      played, [&](comm::Peers& peers, std::span<const Tensor> buffers, const CollectiveCall&,
                  ReduceOp op) { part(peers, buffers[0], op); });
}

}  // namespace lockstep::grader
