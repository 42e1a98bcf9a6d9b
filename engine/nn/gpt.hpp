// A decoder-only transformer in GPT-2's shape: token and position embeddings, blocks that normalise
// before they attend and before they feed forward, a last norm, logits over the vocabulary.
// Source: [RWC19] §2.3; names of parameters are those of its published weights.
// B batch, T tokens, C width, H heads, V vocabulary, L layers.
#pragma once

#include <memory>

#include "engine/nn/layer_maker.hpp"
#include "engine/nn/units.hpp"

namespace lockstep::nn {

enum class OutputHead : std::uint8_t { tied, untied };  // tied: logits = x · wteᵀ
// The tensors that are kept for backward(): all that the operations save, or the blocks' inputs
// only, at the price of a second forward pass ([CXZ16] §3).
enum class Keep : std::uint8_t { activations, block_inputs };

struct GptOptions {
  std::int64_t layers = 4;
  std::int64_t width = 128;
  std::int64_t heads = 4;
  std::int64_t sequence = 64;  // the longest T
  std::int64_t vocabulary = 256;
  OutputHead head = OutputHead::tied;
  double dropout = 0;  // after the embeddings, attention and feed-forward layers
  Keep keep = Keep::activations;
  MixtureOptions mixture{};  // in the place of each block's feed-forward network
};

// forward: int64 tokens [B, T], T ≤ sequence → logits [B, T, V].
// Weights are normal with deviation 0.02, those that end a residual branch 0.02 / √(2·L); biases 0,
// norms 1. 12·L·C² + 13·L·C + (V + T)·C + 2·C parameters, and V·C more for an untied head. With a
// mixture of E experts, (E - 1)·L·(8·C² + 5·C) + L·E·C more.
//   Throws  ContractError when heads do not divide width, or a size is below 1
std::unique_ptr<Module> make_gpt(const GptOptions& options, DType dtype, Device& device,
                                 std::uint64_t seed);

// Its units: the embedding (wte, wpe), the blocks h.0 … h.L-1, the head (ln_f, and lm_head where it
// is untied). A tied head that is made without the embedding holds a wte.weight of its own, with
// the same numbers: whoever trains the two apart adds up their gradients.
//   layers  makes their layers; it must outlive this call alone
std::int64_t unit_count(const GptOptions& options);  // L + 2
std::unique_ptr<Chain> make_gpt_units(const GptOptions& options, DType dtype, Device& device,
                                      std::uint64_t seed, UnitRange range,
                                      const LayerMaker& layers);

}  // namespace lockstep::nn
