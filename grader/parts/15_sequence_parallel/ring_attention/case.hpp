// The case format of ring_attention, shared by adapter and exam.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/base/dtype.hpp"
#include "grader/play/asked_attention.hpp"
#include "grader/play/ending.hpp"
#include "grader/play/part.hpp"

namespace lockstep::grader {

using RingShape = AttentionShape;

// A rank's tensors of one call. Each number stands in `filler` elements, one after the other.
struct RingCall {
  RingShape queries_shape{}, keys_values_shape{};  // of the elements
  Bytes queries{}, keys_values{};
};

// hands_over: the caller keeps no handle of the keys and values, and the judge looks at the memory.
enum class RingWalk : std::uint8_t { keeps, hands_over, refused };

// If a case asks, the judge computes attention, and lets the time pass that it takes. It has the
// values; those that travel are others. So nobody has a result who did not ask with the block in
// hand.
struct RingCase {
  GroupChoice group{};
  Peer peer = Peer::stays;
  DType dtype = DType::float64;
  RingWalk walk = RingWalk::keeps;
  bool asks = false;  // attention is asked of the judge
  std::int64_t heads = 1, filler = 1;
  std::vector<Positions> slices{};  // by rank
  std::vector<RingCall> calls{};
};

struct RingReport {
  Ending ending{};                             // of a part that has to refuse
  RingShape output_shape{}, log_sums_shape{};  // as they are
  DType output_dtype = DType::float64, log_sums_dtype = DType::float64;
  Bytes output{}, log_sums{};  // the numbers
  bool changed = false;        // the part wrote into what it was given
};

template <typename Archive>
void fields(Archive& archive, RingCall& call) {
  archive(call.queries_shape, call.keys_values_shape, call.queries, call.keys_values);
}
template <typename Archive>
void fields(Archive& archive, RingCase& c) {
  archive(c.group, c.peer, c.dtype, c.walk, c.asks, c.heads, c.filler, c.slices, c.calls);
}
template <typename Archive>
void fields(Archive& archive, RingReport& report) {
  archive(report.ending, report.output_shape, report.log_sums_shape, report.output_dtype,
          report.log_sums_dtype, report.output, report.log_sums, report.changed);
}

}  // namespace lockstep::grader
