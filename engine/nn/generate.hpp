// Text from a trained model, token by token.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "engine/nn/module.hpp"

namespace lockstep::nn {

struct GenerateOptions {
  std::int64_t tokens = 256;   // to add
  std::int64_t sequence = 64;  // the longest the model takes: what it sees of what came before
  double temperature = 0.8;    // logits are divided by it; 0: the likeliest token, always
  std::int64_t top_k = 0;      // draw among the k likeliest; 0: among all
  std::uint64_t seed = 0;      // token n is drawn with the n-th number of this stream
};

// Extends `prompt` (at least one token) and returns what was added; `each` hears of every token at
// once.
//   Cost  Each token runs the model on itself alone, with the keys and values that the model keeps
//         of those before it. Once there are more than `sequence`, every token that the model sees
//         moves by one position when another comes. Its position is in its keys and values, so none
//         of them can be kept, and each token runs the model on all that it sees, as it does from
//         the beginning where a model keeps nothing
std::vector<std::int64_t> generate(Module& model, std::vector<std::int64_t> prompt,
                                   const GenerateOptions& options,
                                   const std::function<void(std::int64_t token)>& each);

}  // namespace lockstep::nn
