// The plan under sharded state: which rank owns which elements of a unit's parameters. They are
// laid one after the other into one flat tensor, which is cut into N ranges of equal size.
//   N ranks, P parameters, C elements of all of them, S = ⌈C / N⌉ elements of a range
//
// Equal ranges are what all-gather and reduce-scatter carry, so the last ranges are padded:
// N·S - C elements at the end belong to no parameter. They are zeros, and nothing may depend on
// them. Ranges know nothing of parameters: one may be cut through, or lie on three ranks.
// Source: [ZERO20] §5; FSDP's flat parameters [ZGV23] §3.2.1
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/tensor/shape.hpp"

namespace lockstep::zero {

// Elements [begin, end) of a flattened parameter. They lie at `offset` in their owner's range.
struct ShardPiece {
  std::size_t parameter = 0;
  std::int64_t begin = 0, end = 0;
  std::int64_t offset = 0;
  bool operator==(const ShardPiece&) const = default;
};

struct FlatShards {
  std::int64_t count = 0;            // C
  std::int64_t shard = 0;            // S
  std::vector<std::int64_t> starts;  // of each parameter, in the flat tensor; of rows, none
  std::vector<std::vector<ShardPiece>> ranks{};  // the pieces of each rank, in order; may be none

  // True if the ranges of all ranks, one after the other, are the parameters, one after the other.
  bool in_order() const { return !starts.empty() || count == 0; }

  std::int64_t padded() const { return shard * static_cast<std::int64_t>(ranks.size()); }
  // Elements of `rank`'s range that belong to no parameter.
  std::int64_t padding(int rank) const;
  bool operator==(const FlatShards&) const = default;
};

// Lays the parameters end to end, and cuts what they make into N ranges of S elements.
//   numels    elements of each parameter, P of them; a parameter may have none
//   ranks     N
//   Returns   C and S; where each parameter starts in the flat tensor; and for each rank the pieces
//             that its range is made of, without any for a range that is all padding
//   Ensures   element e of the flat tensor is in the range of rank ⌊e / S⌋, at the offset e mod S;
//             a rank has one piece of each parameter of which its range holds something, in the
//             order of the parameters, and no piece is empty
//   Time      O(P·N), however many elements there are
//   Requires  C + N < 2^63
//   Throws    ContractError when there is no rank, or a negative number of elements
FlatShards flat_shards(std::span<const std::int64_t> numels, int ranks);

// The same by rows of each parameter, FSDP2's plan: ⌈rows / N⌉ rows of every parameter to each
// rank, the last ranks fewer or none. A rank's range has room for as many rows of every parameter,
// so what is gathered has holes, and must be copied out.
//   shapes  of each parameter; one without dimensions is one row
FlatShards row_shards(std::span<const Shape> shapes, int ranks);

}  // namespace lockstep::zero
