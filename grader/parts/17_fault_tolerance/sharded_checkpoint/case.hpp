// The case format of sharded_checkpoint, shared by adapter and exam: a rank's acts in one life of a
// run that is sharded, or one tensor of which boxes are read.
#pragma once

#include "engine/checkpoint/sharded_checkpoint.hpp"
#include "grader/play/ending.hpp"
#include "grader/play/part.hpp"
#include "grader/play/saved_state.hpp"

namespace lockstep::grader {

// A rank that reads boxes reports a BoxesReport, one that takes acts a LifeReport.
struct ShardedCase {
  std::vector<Box> saved{};  // empty: the acts of `life`
  Boxes wanted{};
  std::uint32_t element_bytes = 0;
  Peer peer = Peer::stays;
  LifeCase life{};
};
template <typename Archive>
void fields(Archive& archive, ShardedCase& c) {
  archive(c.saved, c.wanted, c.element_bytes, c.peer, c.life);
}

// A stretch of a saved box, which the judge has.
struct BoxCall {
  static constexpr const char* service = "boxes";
  int source = 0;
  std::int64_t offset = 0, length = 0;
};
struct BoxAnswer {
  std::string damaged{};  // empty: it is not
  Bytes bytes{};
};
template <typename Archive>
void fields(Archive& archive, BoxCall& call) {
  archive(call.source, call.offset, call.length);
}
template <typename Archive>
void fields(Archive& archive, BoxAnswer& answer) {
  archive(answer.damaged, answer.bytes);
}

struct BoxesReport {
  Ending ending{};
  Bytes bytes{};  // of the wanted elements
};
template <typename Archive>
void fields(Archive& archive, BoxesReport& report) {
  archive(report.ending, report.bytes);
}

}  // namespace lockstep::grader
