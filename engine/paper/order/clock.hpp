// A vector clock: for each track (a stream, or the host), how many of its operations have come to
// pass. An operation is before another when the clock of that one counts it: that is
// what "happens before" means here, and nothing else is.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace lockstep::paper {

using Track = std::uint32_t;  // a stream of any device, or the host; numbers are never given again

class Clock {
 public:
  std::uint32_t operator[](Track track) const {
    return track < counts_.size() ? counts_[track] : 0;
  }

  void set(Track track, std::uint32_t count) {
    if (track >= counts_.size()) counts_.resize(track + 1);
    counts_[track] = count;
  }

  void join(const Clock& other) {
    if (other.counts_.size() > counts_.size()) counts_.resize(other.counts_.size());
    for (std::size_t i = 0; i < other.counts_.size(); ++i) {
      counts_[i] = std::max(counts_[i], other.counts_[i]);
    }
  }

 private:
  std::vector<std::uint32_t> counts_;
};

}  // namespace lockstep::paper
