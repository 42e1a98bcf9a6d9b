// The case format of read_the_hang, shared by adapter and exam: reports in, diagnoses out.
#pragma once

#include "engine/comm/hang_report.hpp"
#include "grader/play/part.hpp"

namespace lockstep::comm {

template <typename Archive>
void fields(Archive& archive, CallRecord& call) {
  archive(call.kind, call.group, call.number, call.peer, call.count);
}
template <typename Archive>
void fields(Archive& archive, RankRecord& rank) {
  archive(rank.doing, rank.last, rank.called);
}
template <typename Archive>
void fields(Archive& archive, HangReport& report) {
  archive(report.groups, report.ranks);
}
template <typename Archive>
void fields(Archive& archive, Diagnosis& found) {
  archive(found.kind, found.culprits, found.number);
}
inline void check_fields(Diagnosis& found) {
  if (found.kind > HangKind::slow) throw MalformedMessage("a diagnosis of no kind");
}

}  // namespace lockstep::comm
