// The case format of ring_attention, shared by adapter and exam.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/base/dtype.hpp"
#include "grader/play/ending.hpp"
#include "grader/play/part.hpp"
#include "grader/play/token_positions.hpp"

namespace lockstep::grader {

using RingShape = std::vector<std::int64_t>;

// What a rank has of one layer. Each number stands in `filler` elements, one after the other.
struct RingCall {
  RingShape queries_shape{}, keys_values_shape{};  // of the elements
  Bytes queries{}, keys_values{};
};

enum class RingAsked : std::uint8_t { computes, refuses };

struct RingCase {
  GroupChoice group{};
  Peer peer = Peer::stays;
  DType dtype = DType::float64;
  RingAsked asked = RingAsked::computes;
  std::int64_t heads = 1, filler = 1;
  std::vector<Positions> slices{};  // by rank
  std::vector<RingCall> calls{};
};

struct RingReport {
  Ending ending{};                           // of a part that has to refuse
  bool fits = true;                          // the shapes and types are those of the contract
  RingShape output_shape{}, log_sums_shape{};  // as they are
  Bytes output{}, log_sums{};                // the numbers, if they fit
  bool changed = false;                      // the part wrote into what it was given
  std::int64_t held_bytes = 0;  // the most of the part's tensors at a time; advice (decision 0055)
};

template <typename Archive>
void fields(Archive& archive, RingCall& call) {
  archive(call.queries_shape, call.keys_values_shape, call.queries, call.keys_values);
}
template <typename Archive>
void fields(Archive& archive, RingCase& c) {
  archive(c.group, c.peer, c.dtype, c.asked, c.heads, c.filler, c.slices, c.calls);
}
template <typename Archive>
void fields(Archive& archive, RingReport& report) {
  archive(report.ending, report.fits, report.output_shape, report.log_sums_shape, report.output,
          report.log_sums, report.changed, report.held_bytes);
}

}  // namespace lockstep::grader
