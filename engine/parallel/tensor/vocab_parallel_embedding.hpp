// An embedding whose table is spread over a tensor-parallel group by rows, as the columns of the
// logits are (vocab_parallel_cross_entropy.hpp), so that a tied table is one share for both.
//   t ranks of the group; V tokens, S = ⌈V / t⌉ rows of a rank, C width
// Source: [SPP19] §3; [MEGATRON]'s VocabParallelEmbedding
#pragma once

#include <cstdint>

#include "engine/autograd/tape.hpp"
#include "engine/parallel/tensor/shares.hpp"

namespace lockstep::tensor_parallel {

// This rank's term of the embedding: rows of the tokens that it has, zeros for all others.
//   table       [S, C], this rank's rows
//   tokens      [...] int64 in [0, vocabulary), the same on every rank
//   vocabulary  V
//   Returns     [..., C] {partial: tp}: leave_parallel or scatter_sum_sequence makes it whole
//   Gradient    of table, this rank's rows of the whole table's; 0 in the padding
//   Comm        none
//   Throws      ContractError on a token outside [0, vocabulary)
Value vocab_parallel_embedding(Tape& tape, const Value& table, const Tensor& tokens,
                               std::int64_t vocabulary, const VocabularyShare& share);

}  // namespace lockstep::tensor_parallel
