// The case format of gradient_accumulation, shared by adapter and exam, and the micro-batches that
// a case describes.
#pragma once

#include "engine/base/dtype.hpp"
#include "grader/play/part.hpp"
#include "grader/play/step_case.hpp"
#include "grader/play/training.hpp"

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
  // Labels of each sample, by place of its micro-batch in the step; repeated where there are more
  // micro-batches. Empty: one label each, and tensors without an axis for them.
  std::vector<std::int64_t> lengths;
  std::vector<double> inputs;        // this rank's, of all steps: [labels · widths.front()]
  std::vector<std::int64_t> labels;  // of all steps
};

// How many labels each sample of a step's micro-batch i has.
inline std::int64_t length_of(const std::vector<std::int64_t>& lengths, std::size_t i) {
  return lengths.empty() ? 1 : lengths[i % lengths.size()];
}

// Micro-batch i of a step, whose labels are those from `first` on: inputs [B, width], labels [B].
// Where samples have lengths: inputs [B, T, width], labels [B, T].
inline data::Batch micro_batch_of(const AccumulationCase& c, std::size_t i, std::int64_t samples,
                                  std::int64_t first, Device& device) {
  const std::int64_t width = c.widths.front(), length = length_of(c.lengths, i);
  const data::Batch flat =
      make_batch(c.inputs, c.labels, width, first, samples * length, c.dtype, device);
  if (c.lengths.empty()) return flat;
  return {flat.inputs.view({samples, length, width}), flat.labels.view({samples, length})};
}

// The state of a rank after its steps.
struct AccumulationReport {
  std::vector<double> losses;  // by step, the mean over the ranks; nan where none was reported
  std::vector<std::vector<std::int64_t>> passes;  // samples of each forward pass, by step
  // For each forward pass, by step: the earlier passes whose backward had not ended when it began.
  std::vector<std::vector<std::int64_t>> waiting;
  // And the bytes of activations that were there, beyond those of the step's first pass.
  std::vector<std::vector<std::int64_t>> held;
  std::int64_t prepared = 0;  // how often the part prepared the model
  std::vector<Bytes> parameters;
};

template <typename Archive>
void fields(Archive& archive, AccumulationCase& c) {
  archive(c.group, c.peer, c.dtype, c.optimizer, c.model_seed, c.widths, c.steps, c.lengths,
          c.inputs, c.labels);
}
template <typename Archive>
void fields(Archive& archive, AccumulationReport& report) {
  archive(report.losses, report.passes, report.waiting, report.held, report.prepared,
          report.parameters);
}

}  // namespace lockstep::grader
