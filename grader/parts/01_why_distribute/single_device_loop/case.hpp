// The case format of single_device_loop, shared by adapter and exam, and the line over which the
// judge serves batches: it alone has the samples, and sees which epochs are read, and how far.
#pragma once

#include "grader/play/served_dataset.hpp"
#include "grader/play/step_case.hpp"

namespace lockstep::grader {

struct LoopCase {
  DType dtype = DType::float64;
  OptimizerKind optimizer = OptimizerKind::momentum;
  std::uint64_t model_seed = 0;
  std::vector<std::int64_t> widths;
  int epochs = 1;
};
struct LoopReport {
  std::vector<double> losses;  // of the epochs
  std::vector<Bytes> parameters;
};

template <typename Archive>
void fields(Archive& archive, LoopCase& c) {
  archive(c.dtype, c.optimizer, c.model_seed, c.widths, c.epochs);
}
template <typename Archive>
void fields(Archive& archive, LoopReport& report) {
  archive(report.losses, report.parameters);
}

// Starts an epoch, or asks for the next batch. Answered with SampleValues: empty ones to a start,
// and at the end of the epoch.
struct LoaderCall {
  static constexpr const char* service = "loader";
  std::optional<int> start{};  // the epoch
};
template <typename Archive>
void fields(Archive& archive, LoaderCall& call) {
  archive(call.start);
}

}  // namespace lockstep::grader
