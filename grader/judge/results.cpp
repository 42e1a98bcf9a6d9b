#include "grader/judge/results.hpp"

#include <algorithm>

namespace lockstep::grader {

Results::Results(std::vector<Bytes> of_ranks, std::vector<int> killed)
    : of_ranks_(std::move(of_ranks)), killed_(std::move(killed)) {
  for (const Bytes& result : of_ranks_) readers_.emplace_back(result);
}

ByteReader& Results::of(int rank) { return readers_.at(static_cast<std::size_t>(rank)); }

bool Results::killed(int rank) const { return std::ranges::count(killed_, rank) > 0; }

void Results::require_read() const {
  for (std::size_t rank = 0; rank < readers_.size(); ++rank) {
    if (readers_[rank].done()) continue;
    throw MalformedMessage(text("rank ", rank, " returned ", of_ranks_[rank].size(),
                                " bytes, and not all of them belong to a result of this case"));
  }
}

}  // namespace lockstep::grader
