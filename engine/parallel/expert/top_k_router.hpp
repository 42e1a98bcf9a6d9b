// The router of a mixture of experts: which experts compute a token, and with which weights their
// results are added up. A plan, made of numbers that the host has: the same values are executed,
// priced and drawn.
//   T tokens, E experts, K of them for each token
// Source: [SMM17] §2.1 (the best K, weighed), [FZS21] §2.1 (K = 1)
#pragma once

#include <cstdint>
#include <vector>

#include "engine/tensor/tensor.hpp"

namespace lockstep::expert_parallel {

// One of a token's choices.
struct Route {
  std::int64_t token = 0;
  std::int64_t expert = 0;
  std::int64_t choice = 0;  // 0: the first, which has the largest logit
  double weight = 0;        // of the expert's result in the token's
  bool operator==(const Route&) const = default;
};

// Each token chooses K experts. A part: defined in solutions/14_expert_parallel.
//   logits    [T, E], of a floating type, which the host reads
//   k         K, from 1 to E
//   Returns   T·K routes, by token and then by choice. A token's choices are different experts, by
//             falling logit; of equal ones, the expert with the smaller number comes first
//   Weights   with K above 1, the K probabilities of softmax(logits), divided by their sum; with
//             K = 1, the probability itself. (Divided by itself it would be 1, whatever the router
//             does, and the router would learn nothing.) In float64, of logits of any finite size
//   Throws    ContractError unless the shape is [T, E] and K from 1 to E; Error that names the
//             token when a logit is not a finite number
std::vector<Route> route(const Tensor& logits, std::int64_t k);

}  // namespace lockstep::expert_parallel
