// The loss that keeps experts equally busy. Without it, an expert that is a little better gets more
// tokens, learns more, and gets still more of them.
//   N ranks, T tokens of a rank in this micro-batch, E experts; over the tokens of all ranks,
//   f_e the share whose first choice is expert e, P_e the mean of its probability
//
//   loss = α·E·Σ f_e·P_e      α where all experts are chosen alike, α·E where one has all tokens
//
// f counts, so nothing can be learned through it; P is where the gradient goes.
// Source: [FZS21] §2.2, equations 4 to 6
#pragma once

#include <cstdint>
#include <span>

#include "engine/comm/process_group.hpp"
#include "engine/tensor/tensor.hpp"

namespace lockstep::expert_parallel {

struct BalancingLoss {
  double loss = 0;  // the same on every rank
  // [T, E], of the probabilities' dtype and device: the derivative by this rank's probabilities.
  Tensor gradient;
};

// A part: defined in solutions/14_expert_parallel.
//   group          of all ranks that have tokens of the micro-batch, in equal or unequal numbers,
//                  of which one at least has a token
//   probabilities  [T, E], of a floating type, which the host reads; T may be 0. It is not changed
//   first_choices  T experts
//   alpha          α
//   Returns        the loss of the tokens of all ranks together, from sums in float64. A product of
//                  a rank's own shares, averaged over the ranks, is another number
//   Comm           at most two all-reduces, of 2·E + 1 numbers together
//   Throws         ContractError when the shapes or an expert do not fit, before anything is sent;
//                  CommError when a peer is lost
BalancingLoss load_balancing_loss(comm::ProcessGroup& group, const Tensor& probabilities,
                                  std::span<const std::int64_t> first_choices, double alpha);

}  // namespace lockstep::expert_parallel
