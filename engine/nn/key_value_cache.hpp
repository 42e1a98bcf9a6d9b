// The keys and values that a model's attention layers computed for a sample's tokens. With them, a
// pass over the tokens that come next computes those only: what it sees of earlier tokens is here.
// They are right as long as no token before them changes, nor its position.
// T tokens of a pass, C width.
#pragma once

#include <cstdint>
#include <map>

#include "engine/autograd/tape.hpp"
#include "engine/tensor/tensor.hpp"

namespace lockstep::nn {

class Module;

struct KeyValueCache {
  std::int64_t room = 0;    // for as many tokens
  std::int64_t tokens = 0;  // kept before this pass: its first token has this position
  std::map<const Module*, Tensor> layers = {};  // [room, 2·C] each, none of a model without any

  // Keeps those of a pass, [1, T, 2·C], and returns all, [1, tokens + T, 2·C], in place.
  Tensor extend(const Module& layer, const Tensor& keys_values);
};

// Attention of a pass's tokens to those that the cache holds and to themselves; keeps theirs.
//   layer     whose queries, keys and values these are; of some of its heads only, where ranks
//             share them
//   qkv       [1, T, 3·C], with `heads` heads
//   Returns   [1, T, C]
//   Requires  a tape for inference
Value cached_attention(Tape& tape, KeyValueCache& cache, const Module& layer, const Value& qkv,
                       std::int64_t heads);

}  // namespace lockstep::nn
