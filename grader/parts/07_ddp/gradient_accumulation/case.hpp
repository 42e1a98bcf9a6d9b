// The case format of gradient_accumulation, shared by adapter and exam.
#pragma once

#include "engine/base/dtype.hpp"
#include "grader/parts/05_data_parallel/data_parallel_step/case.hpp"
#include "grader/play/part.hpp"

namespace lockstep::grader {

struct AccumulationCase {
  GroupChoice group{};
  Peer peer = Peer::stays;
  DType dtype = DType::float64;
  OptimizerKind optimizer = OptimizerKind::momentum;
  std::uint64_t model_seed = 0;
  std::vector<std::int64_t> widths;
  // Samples of each micro-batch, by step: the same on every rank.
  std::vector<std::vector<std::int64_t>> steps;
  std::vector<double> inputs;        // this rank's, of all steps: [samples · widths.front()]
  std::vector<std::int64_t> labels;  // [samples]
};

// What a rank has after its steps.
struct AccumulationReport {
  std::vector<double> losses;  // by step, the mean over the ranks; nan where none was reported
  std::vector<std::vector<std::int64_t>> passes;  // samples of each forward pass, by step
  // Of each forward pass, by step: the earlier ones whose backward had not ended when it began.
  std::vector<std::vector<std::int64_t>> waiting;
  std::vector<Bytes> parameters;
};

template <typename Archive>
void fields(Archive& archive, AccumulationCase& c) {
  archive(c.group, c.peer, c.dtype, c.optimizer, c.model_seed, c.widths, c.steps, c.inputs,
          c.labels);
}
template <typename Archive>
void fields(Archive& archive, AccumulationReport& report) {
  archive(report.losses, report.passes, report.waiting, report.parameters);
}

}  // namespace lockstep::grader
