// Causal attention with several heads, in blocks: no matrix of all scores is kept, nor made whole.
// B batch, T tokens, Tq queries, Tk keys and values, H heads, D size of a head, C = H·D.
#pragma once

#include "engine/tensor/positions.hpp"
#include "engine/tensor/tensor.hpp"

namespace lockstep::ops {

// A token's C columns are those of its heads, D each, one head after the other.
struct AttentionOptions {
  std::int64_t heads = 1;
  Positions queries, keys;  // where the Tq queries, and the Tk keys, stand in their sample
};

struct Attention {
  Tensor output;    // [B, Tq, C]
  Tensor log_sums;  // [B, H, Tq]: log Σ exp of a query's scores; float32 of halves
};

// Attention of a block of queries to a block of keys: softmax(q·kᵀ/√D)·v for each head, over the
// keys whose position is no later than the query's. The output of a query that sees several blocks
// is the mean of theirs, weighted by exp(log-sum).
//   queries      [B, Tq, C]
//   keys_values  [B, Tk, 2·C]: a token's keys, then its values; one tensor is one message
//   Ensures  a query that sees no key gets output 0 and log-sum -∞. NaN in a key or a value reaches
//            the queries that see it only; on a GPU also others of the same tile, as 0 · NaN
//   Memory   output and one number per query and head; scratch for a block of scores
//   FLOPs    4·D per head and visible pair. The pair of a query and the key at its own position
//            counts half, so that a sample's T tokens cost 2·B·T²·C together, however they are cut
//            into blocks. Blocks of which nothing is seen are skipped and cost nothing
//   Throws   ContractError unless both have one batch, dtype and device, heads divide C, and there
//            are as many positions as tokens, in increasing order
//   Source   [DFE22] §3.1 (online softmax over blocks, log-sum kept, scores made again backward)
Attention attention(const Tensor& queries, const Tensor& keys_values,
                    const AttentionOptions& options);

// Its gradients. Those of a query are the sum over the blocks that it sees, and those of a key the
// sum over the blocks of queries that see it.
//   grad   [B, Tq, C], of the output over all blocks
//   whole  the output and log-sums of these queries over all keys that they see, in any block
//   Ensures  0 for a query that sees no key of the block, and for a key that no query sees
//   FLOPs    2.5 times forward's: five products of the size of its two
struct AttentionGradients {
  Tensor queries;      // [B, Tq, C]
  Tensor keys_values;  // [B, Tk, 2·C]
};
AttentionGradients attention_backward(const Tensor& grad, const Tensor& queries,
                                      const Tensor& keys_values, const Attention& whole,
                                      const AttentionOptions& options);

// The attention of whole samples to themselves, where queries, keys and values are the columns of
// one packed projection. The same kernels.
//   qkv  [B, T, 3·C]: a token's queries, then keys, then values
Attention causal_attention(const Tensor& qkv, std::int64_t heads);

// d/d(qkv) [B, T, 3·C]
Tensor causal_attention_backward(const Tensor& grad, const Tensor& qkv, const Attention& forward,
                                 std::int64_t heads);

}  // namespace lockstep::ops
