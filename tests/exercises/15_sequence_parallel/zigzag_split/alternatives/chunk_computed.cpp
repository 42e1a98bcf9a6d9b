// Constant time: the chunk of a position is computed, as the last one that begins no later.
#include "engine/base/error.hpp"
#include "engine/parallel/sequence/zigzag_split.hpp"

namespace lockstep::sequence_parallel {

Positions zigzag(std::int64_t length, int ranks, int rank) {
  const std::int64_t n = ranks, r = rank, chunks = 2 * n;
  LOCKSTEP_CHECK(r >= 0 && r < n && length >= chunks, "rank ", r, " of ", n, ", ", length,
                 " tokens");
  const std::int64_t first = r * length / chunks, end = (r + 1) * length / chunks;
  const std::int64_t late = (chunks - 1 - r) * length / chunks,
                     late_end = (chunks - r) * length / chunks;
  return {{first, end - first}, {late, late_end - late}};
}

TokenPlace zigzag_place(std::int64_t length, int ranks, std::int64_t position) {
  const std::int64_t chunks = 2 * std::int64_t{ranks};
  LOCKSTEP_CHECK(ranks > 0 && length >= chunks && position >= 0 && position < length, "position ",
                 position, " of ", length, " on ", ranks, " ranks");
  // The largest c with ⌊c·S / 2N⌋ ≤ p is the largest one with c·S < (p + 1)·2N.
  const std::int64_t chunk = ((position + 1) * chunks - 1) / length;
  const int rank = static_cast<int>(chunk < ranks ? chunk : chunks - 1 - chunk);
  const std::int64_t index = position - chunk * length / chunks;
  return {rank, chunk < ranks ? index : index + zigzag(length, ranks, rank).early.count};
}

}  // namespace lockstep::sequence_parallel
