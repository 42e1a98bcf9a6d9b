// Task: cut a sequence so that causal attention costs every rank the same: into 2N chunks, of which
// rank r has number r and number 2N-1-r. The second function is the inverse. The contract is in
// engine/parallel/sequence/zigzag_split.hpp.
#include "engine/parallel/sequence/zigzag_split.hpp"

#include "engine/base/error.hpp"

namespace lockstep::sequence_parallel {

// >>> your code
namespace {

TokenRange chunk(std::int64_t length, int ranks, int number) {
  const std::int64_t chunks = 2 * std::int64_t{ranks}, first = number * length / chunks;
  return {first, (number + 1) * length / chunks - first};
}

}  // namespace
// <<< your code

Positions zigzag(std::int64_t length, int ranks, int rank) {
  LOCKSTEP_CHECK(rank >= 0 && rank < ranks, "zigzag: rank ", rank, " of ", ranks,
                 "; ranks count from 0");
  LOCKSTEP_CHECK(length >= 2 * std::int64_t{ranks}, "zigzag: ", length, " tokens for ", ranks,
                 " ranks; each rank has two chunks of at least one token");
  // >>> your code
  return {chunk(length, ranks, rank), chunk(length, ranks, 2 * ranks - 1 - rank)};
  // <<< your code
}

TokenPlace zigzag_place(std::int64_t length, int ranks, std::int64_t position) {
  LOCKSTEP_CHECK(position >= 0 && position < length, "zigzag_place: position ", position,
                 " in a sample of ", length, " tokens; positions count from 0");
  // >>> your code
  for (int rank = 0; rank < ranks; ++rank) {
    const Positions mine = zigzag(length, ranks, rank);
    const std::int64_t index = mine.before(position);
    if (index < mine.count() && mine.of(index) == position) return {rank, index};
  }
  throw ContractError("zigzag_place: no rank has the position");
  // <<< your code
}

}  // namespace lockstep::sequence_parallel
