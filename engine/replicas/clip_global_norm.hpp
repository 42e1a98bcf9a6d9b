// One norm for one gradient, whoever holds its pieces. A model whose gradient is spread over ranks
// has one global norm and one factor; a rank that took the norm of its own pieces would scale them
// by a factor of its own, and the pieces would no longer be those of one gradient.
#pragma once

#include <span>

#include "engine/comm/process_group.hpp"

namespace lockstep::replicas {

// A rank's gradients, in two lists: each element of the model's gradient is in `counted` of exactly
// one rank of the group. What others count is in `copies`, such as a weight that two stages share.
// Undefined tensors are left out.
struct GradientPieces {
  std::span<const Tensor> counted{};
  std::span<const Tensor> copies{};
};

// Scales all pieces by max_norm / (norm + 1e-6), where that is below 1; norm is the L2 norm of the
// whole gradient.
//   groups    over which the pieces are spread, one after the other: of shards, then of stages;
//             none: this rank counts all. Every rank of each group calls this
//   pieces    each of any floating type, of 0 elements or more
//   max_norm  above 0; 0 and below only measure
//   Returns   the norm before scaling, [1] float64 on the gradients' device, the same bits on all
//             ranks; undefined when this rank counts nothing and there is no group
//   Ensures   squares are summed in float64; what is counted and what is copied is scaled in place,
//             by the same factor on every rank; where the norm is infinite or NaN, nothing is
//             scaled
//   Comm      an all-reduce of one float64 for each group of several ranks
//   Throws    ContractError when this rank counts nothing, although there is a group; CommError
//             when a peer is lost
//   Source    PyTorch's clip_grad_norm_ of FSDP, over sharded gradients; [ZGV23] §7.2.1 on what
//             needs all shards
Tensor clip_global_norm(std::span<comm::ProcessGroup* const> groups, const GradientPieces& pieces,
                        double max_norm);

}  // namespace lockstep::replicas
