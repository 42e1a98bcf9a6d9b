// The case format of join_uneven_inputs, shared by adapter and exam.
#pragma once

#include "engine/base/dtype.hpp"
#include "engine/parallel/ddp/join.hpp"
#include "grader/play/part.hpp"

namespace lockstep::grader {

struct JoinCase {
  GroupChoice group{};
  Peer peer = Peer::stays;
  DType dtype = DType::float64;
  ddp::JoinDivide divide = ddp::JoinDivide::initial;
  std::uint64_t model_seed = 0;
  std::vector<std::int64_t> widths;
  std::vector<std::int64_t> steps;   // for which this rank has batches, by epoch
  std::vector<std::int64_t> rounds;  // the most calls of step_with_join that an epoch can need
  std::int64_t micro_batches = 1;    // of a step
  std::int64_t batch = 1;            // samples of a micro-batch
  std::vector<double> inputs;        // this rank's, of all epochs: [samples · widths.front()]
  std::vector<std::int64_t> labels;  // [samples]
  std::uint8_t has_buffer = 0;       // the model: one that every forward pass changes
};

// A rank's record of an epoch.
struct JoinedEpoch {
  std::vector<std::int64_t> live;         // what each call of step_with_join returned
  std::vector<std::vector<Bytes>> after;  // parameters after each step that had batches here
  std::int64_t last = -1;                 // what end_join returned
  std::vector<Bytes> parameters;          // after it
  double buffer = 0;                      // the same, of the model's buffer
};
struct JoinReport {
  std::vector<JoinedEpoch> epochs;
};

// A rank's record when a step ended in an exception, and its parameters then.
struct JoinedBefore {
  JoinReport report;
  std::vector<Bytes> parameters;
};

template <typename Archive>
void fields(Archive& archive, JoinCase& c) {
  archive(c.group, c.peer, c.dtype, c.divide, c.model_seed, c.widths, c.steps, c.rounds,
          c.micro_batches, c.batch, c.inputs, c.labels, c.has_buffer);
}
template <typename Archive>
void fields(Archive& archive, JoinedEpoch& epoch) {
  archive(epoch.live, epoch.after, epoch.last, epoch.parameters, epoch.buffer);
}
template <typename Archive>
void fields(Archive& archive, JoinReport& report) {
  archive(report.epochs);
}

template <typename Archive>
void fields(Archive& archive, JoinedBefore& one) {
  archive(one.report, one.parameters);
}

}  // namespace lockstep::grader
