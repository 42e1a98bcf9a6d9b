// Steps of training a small model, as the cases of several parts describe them (training.hpp makes
// the model), and what a rank reports of them.
#pragma once

#include "engine/base/dtype.hpp"
#include "grader/play/part.hpp"

namespace lockstep::grader {

enum class OptimizerKind : std::uint8_t { momentum, adam };

struct StepCase {
  GroupChoice group{};
  Peer peer = Peer::stays;
  DType dtype = DType::float64;
  OptimizerKind optimizer = OptimizerKind::momentum;
  double clip_norm = 0;
  bool unused = false;  // the model has a parameter that forward does not use
  std::uint64_t model_seed = 0;
  std::vector<std::int64_t> widths;
  std::int64_t batch = 0;            // samples of this rank in each step
  std::vector<double> inputs;        // [steps · batch · widths.front()]
  std::vector<std::int64_t> labels;  // [steps · batch]
};

// A rank's state after its steps.
struct StepReport {
  std::vector<double> losses;       // by step
  bool first_has_gradient = false;  // the first parameter, which may be the unused one
  std::vector<Bytes> parameters;
};

template <typename Archive>
void fields(Archive& archive, StepCase& c) {
  archive(c.group, c.peer, c.dtype, c.optimizer, c.clip_norm, c.unused, c.model_seed, c.widths,
          c.batch, c.inputs, c.labels);
}
template <typename Archive>
void fields(Archive& archive, StepReport& report) {
  archive(report.losses, report.first_has_gradient, report.parameters);
}

}  // namespace lockstep::grader
