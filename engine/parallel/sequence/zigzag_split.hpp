// The two ways in which ranks share a sequence: each has one slice, or each has a chunk of the
// front and the mirrored one of the back. With a causal mask the token at position p sees p + 1
// keys, so the rank with the last slice has the most work. Zigzag gives all ranks the same.
//   N ranks, this one is r; S tokens of a sample
//
//   contiguous, N = 3    0 0 1 1 2 2       keys seen 3 : 7 : 11
//   zigzag, N = 3        0 1 2 2 1 0       keys seen 7 : 7 : 7
//
// Tokens lie on a rank in the order of the sample. Slices and chunks differ by at most one token.
// Source: [LLAMA3] §3.3.2, [MEGATRON]'s get_batch_on_this_cp_rank
#pragma once

#include <cstdint>

#include "engine/tensor/positions.hpp"

namespace lockstep::sequence_parallel {

// The positions of a rank's tokens: chunk c of 2N begins at ⌊c·S / 2N⌋ and ends where the next one
// begins, and rank r has chunks r and 2N-1-r, the earlier one first. A part, together with
// zigzag_place: defined in solutions/15_sequence_parallel.
//   length   S, 2N and above
//   Ensures  every position is one rank's; no chunk is empty, and they differ by at most one token
//   Throws   ContractError when there are fewer than 2N tokens, or for a rank that is not one of
//            `ranks`
Positions zigzag(std::int64_t length, int ranks, int rank);

// The rank that has a token, and the token's index among those of the rank.
struct TokenPlace {
  int rank = 0;
  std::int64_t index = 0;
  bool operator==(const TokenPlace&) const = default;
};

// The inverse: zigzag(length, ranks, place.rank).of(place.index) is the position.
//   position  from 0 to S-1
//   Time      O(1), or O(N)
//   Throws    ContractError when there are fewer than 2N tokens, or for a position outside
TokenPlace zigzag_place(std::int64_t length, int ranks, std::int64_t position);

// One slice each, from ⌊r·S / N⌋ to where the next one begins.
//   length  S, N and above
//   Throws  ContractError when there are fewer tokens than ranks, or for a rank that is not one of
//           them
Positions contiguous(std::int64_t length, int ranks, int rank);

}  // namespace lockstep::sequence_parallel
