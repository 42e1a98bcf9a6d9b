// One slice of a sequence for each rank (zigzag_split.hpp).
#include "engine/base/error.hpp"
#include "engine/parallel/sequence/zigzag_split.hpp"

namespace lockstep::sequence_parallel {

Positions contiguous(std::int64_t length, int ranks, int rank) {
  LOCKSTEP_CHECK(rank >= 0 && rank < ranks, "contiguous: rank ", rank, " of ", ranks,
                 "; ranks count from 0");
  LOCKSTEP_CHECK(length >= ranks, "contiguous: ", length, " tokens for ", ranks,
                 " ranks; each rank has at least one token");
  const std::int64_t first = rank * length / ranks;
  return {{first, (rank + 1) * length / ranks - first}};
}

}  // namespace lockstep::sequence_parallel
