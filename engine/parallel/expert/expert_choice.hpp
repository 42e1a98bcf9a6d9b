// Routing the other way round: each expert chooses its tokens, so all experts have as much to do,
// and no loss is needed to balance them. A token may be chosen by none of them or by all. To know
// whether a token is chosen, all others are looked at, also later ones: a model that generates text
// token by token cannot do so.
//   T tokens, E experts, F capacity factor: the experts that a token has on average
// Source: [ZLL22] §3.2
#pragma once

#include "engine/parallel/expert/assign_slots.hpp"

namespace lockstep::expert_parallel {

// Each expert takes its best tokens. A part: defined in solutions/14_expert_parallel.
//   logits           [T, E], of a floating type, which the host reads
//   capacity_factor  F, above 0
//   Returns          a plan with capacity c = ⌈T·F/E⌉ (rounded_up), at most T, in which every
//                    expert has exactly c tokens: those with the largest probability, the softmax
//                    of a token's logits over the experts. Slots by falling probability; of equal
//                    ones, the earlier token comes first. Weight is the probability, in float64;
//                    `choice` is 0
//   Throws           ContractError unless the shape is [T, E] with E of 1 or more, and F is above 0
//                    and finite; Error that names the token when a logit is not a finite number
SlotPlan expert_choice(const Tensor& logits, double capacity_factor);

}  // namespace lockstep::expert_parallel
