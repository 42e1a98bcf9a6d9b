// The case format of clip_global_norm, shared by adapter and exam.
#pragma once

#include "engine/base/dtype.hpp"
#include "grader/play/ending.hpp"
#include "grader/play/part.hpp"

namespace lockstep::grader {

// One of a rank's tensors, or a place in a list at which there is none.
struct HeldPiece {
  bool defined = true;
  DType dtype = DType::float64;
  Bytes values;
};

struct ClipCall {
  double max_norm = 1;
  std::vector<HeldPiece> counted, copies;
};

struct ClipCase {
  GroupChoice group{};
  Peer peer = Peer::stays;
  // The ranks stand in rows of this length: a rank's groups are its row and its column. 0: the
  // members are one group; below 0: there is none.
  int columns = 0;
  std::vector<ClipCall> calls;  // one after the other
};

// The state of a rank after a call.
struct ClipReport {
  Ending ending;
  bool defined = false;  // the norm; and what it is made of
  DType dtype = DType::float64;
  Bytes norm;
  std::vector<Bytes> counted, copies;
};

template <typename Archive>
void fields(Archive& archive, HeldPiece& piece) {
  archive(piece.defined, piece.dtype, piece.values);
}
template <typename Archive>
void fields(Archive& archive, ClipCall& call) {
  archive(call.max_norm, call.counted, call.copies);
}
template <typename Archive>
void fields(Archive& archive, ClipCase& c) {
  archive(c.group, c.peer, c.columns, c.calls);
}
template <typename Archive>
void fields(Archive& archive, ClipReport& report) {
  archive(report.ending, report.defined, report.dtype, report.norm, report.counted, report.copies);
}

}  // namespace lockstep::grader
