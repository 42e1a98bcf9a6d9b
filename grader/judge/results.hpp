// The results of a case's ranks, and how much of each has been read. A result that nobody looks at
// is no evidence, so a result that a check has not read to its end counts as unreadable. If a rank
// has nothing to return, its result must be empty.
#pragma once

#include <cstddef>
#include <vector>

#include "engine/base/bytes.hpp"

namespace lockstep::grader {

class Results {
 public:
  // killed: the ranks that a fault ended; they returned nothing
  Results(std::vector<Bytes> of_ranks, std::vector<int> killed);
  Results(const Results&) = delete;
  Results& operator=(const Results&) = delete;

  std::size_t size() const { return of_ranks_.size(); }
  // Reads on where the last reader of this rank's result stopped.
  ByteReader& of(int rank);
  bool killed(int rank) const;
  bool any_killed() const { return !killed_.empty(); }
  const std::vector<Bytes>& bytes() const { return of_ranks_; }

  //   Throws  MalformedMessage when something of a result was not read
  void require_read() const;

 private:
  std::vector<Bytes> of_ranks_;
  std::vector<int> killed_;
  std::vector<ByteReader> readers_;
};

}  // namespace lockstep::grader
