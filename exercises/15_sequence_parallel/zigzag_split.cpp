// Task: cut a sequence so that causal attention costs every rank the same: into 2N chunks, of which
// rank r has number r and number 2N-1-r. The second function is the inverse. The contract is in
// engine/parallel/sequence/zigzag_split.hpp.
#include "engine/parallel/sequence/zigzag_split.hpp"

#include "engine/base/error.hpp"

namespace lockstep::sequence_parallel {

// >>> your code
// <<< your code

Positions zigzag(std::int64_t length, int ranks, int rank) {
  LOCKSTEP_CHECK(rank >= 0 && rank < ranks, "zigzag: rank ", rank, " of ", ranks,
                 "; ranks count from 0");
  LOCKSTEP_CHECK(length >= 2 * std::int64_t{ranks}, "zigzag: ", length, " tokens for ", ranks,
                 " ranks; each rank has two chunks of at least one token");
  // >>> your code
  // Avoids warnings about parameters that are not used yet.
  (void)length, (void)ranks, (void)rank;
  throw NotImplemented("zigzag_split");
  // <<< your code
}

TokenPlace zigzag_place(std::int64_t length, int ranks, std::int64_t position) {
  LOCKSTEP_CHECK(position >= 0 && position < length, "zigzag_place: position ", position,
                 " in a sample of ", length, " tokens; positions count from 0");
  // >>> your code
  // Avoids warnings about parameters that are not used yet.
  (void)length, (void)ranks, (void)position;
  throw NotImplemented("zigzag_split");
  // <<< your code
}

}  // namespace lockstep::sequence_parallel
