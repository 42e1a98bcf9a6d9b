// How many entries of a gradient travel, which entries a random choice takes, and how the entries
// that each rank chose for itself travel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "engine/base/error.hpp"
#include "engine/tensor/tensor.hpp"

namespace lockstep::compress {

// fraction · count, rounded to the nearest integer; at least 1 unless count is 0, so that small
// tensors are trained, too.
//   Throws  ContractError unless 0 < fraction ≤ 1
std::int64_t entries_of(std::int64_t count, double fraction);

// k different places out of [0, count), ascending; every choice of k places is equally likely.
// Depends only on its arguments, so ranks that share the seed need not tell each other.
//   Throws  ContractError unless 0 ≤ k ≤ count
//   Cost    k draws, and a bit for every place
//   Source  R. W. Floyd's algorithm [BF87]
std::vector<std::int64_t> random_entries(std::int64_t count, std::int64_t k, std::uint64_t seed);

// A block is k entries of a rank as they travel: their places, int32, and then their values, of the
// gradient's dtype. uint8, on the host of the gradient's device; not yet written.
Tensor block_for(const Tensor& gradient, std::int64_t k);

// Entry j of the k in a block, from 0. T is the gradient's float or double.
//   Throws  ContractError for a value of another size than the block has room for, and for a j that
//           is not one of the k
template <typename T>
void write_entry(const Tensor& block, std::int64_t k, std::int64_t j, std::int32_t place, T value) {
  const auto entry_bytes = static_cast<std::int64_t>(sizeof place + sizeof value);
  LOCKSTEP_CHECK(block.numel() == k * entry_bytes, "write_entry: a value of ", sizeof value,
                 " bytes, and a block of ", block.numel(), " bytes for ", k,
                 " entries, each of 4 bytes for its place and the rest for its value; give the "
                 "value the gradient's type, float or double");
  LOCKSTEP_CHECK(j >= 0 && j < k, "write_entry: entry ", j, " of ", k, "; entries count from 0");
  std::byte* begin = block.raw_bytes().data();
  std::memcpy(begin + 4 * j, &place, sizeof place);
  std::memcpy(begin + 4 * k + static_cast<std::int64_t>(sizeof value) * j, &value, sizeof value);
}

// The entries of several blocks of k, one block after the other, each added at its place.
//   like     what `blocks` are entries of: its dtype, device and number of elements
//   Returns  [n], zero where no entry is; entries of one place are added in the order of blocks
Tensor sum_of_entries(const Tensor& blocks, std::int64_t k, const Tensor& like);

}  // namespace lockstep::compress
