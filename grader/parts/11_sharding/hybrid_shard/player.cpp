// Plays hybrid_shard: the group is split into nodes, and across them.
#include "engine/parallel/zero/hybrid_shard.hpp"

#include "grader/play/collective_play.hpp"

namespace lockstep::grader {

Bytes play(sim::PlayerCase& played) {
  return play_collective(played, [](comm::ProcessGroup& group, std::span<const Tensor> buffers,
                                    const CollectiveCall& call, ReduceOp op) {
    const auto in_node = group.split(call.in_node.color, call.in_node.key);
    const auto across = group.split(call.across.color, call.across.key);
    zero::reduce_hybrid(*in_node, *across, buffers[0], buffers[1], op);
  });
}

}  // namespace lockstep::grader
