// The case format of mixed_precision_step, shared by adapter and exam. A backward pass is a request
// to the judge, which has the gradients: it multiplies them by the scale that it is told, and
// answers with what is left of them in 16 bits.
#pragma once

#include "engine/parallel/zero/mixed_precision_step.hpp"
#include "grader/play/ask.hpp"
#include "grader/play/part.hpp"

namespace lockstep::grader {

enum class MixedRule : std::uint8_t { momentum, adam };

// The same on the trusted side, to say what the update is.
inline std::unique_ptr<optim::Optimizer> make_rule(MixedRule rule, double rate, Parameter& master) {
  if (rule == MixedRule::adam) return optim::make_adam({&master}, {.learning_rate = rate});
  return optim::make_sgd({&master}, {.learning_rate = rate, .momentum = 0.9});
}

struct MixedCase {
  GroupChoice group{};
  Peer peer = Peer::stays;
  DType dtype = DType::float16;
  MixedRule rule = MixedRule::momentum;
  double rate = 0, max_norm = 0;
  double scale = 0;  // at first
  std::int64_t good_steps = 0, interval = 0;
  std::int64_t steps = 0;
  Bytes parameters{};  // [N·S] of the model
  Bytes master{};      // [S] float32, this rank's
};
template <typename Archive>
void fields(Archive& archive, MixedCase& c) {
  archive(c.group, c.peer, c.dtype, c.rule, c.rate, c.max_norm, c.scale, c.good_steps, c.interval,
          c.steps, c.parameters, c.master);
}

// A backward pass: answered with this rank's gradients, multiplied by the scale.
struct MixedBackward {
  static constexpr const char* service = "backward";
  std::uint32_t step = 0;
  double scale = 0;
};
template <typename Archive>
void fields(Archive& archive, MixedBackward& call) {
  archive(call.step, call.scale);
}
struct MixedGradients {
  Bytes values{};
};
template <typename Archive>
void fields(Archive& archive, MixedGradients& gradients) {
  archive(gradients.values);
}

// A rank after a step.
struct MixedStep {
  zero::StepEnd end = zero::StepEnd::taken;
  double scale = 0;
  std::int64_t good_steps = 0;
  Bytes master{}, parameters{};
  std::vector<Bytes> state{};  // of the optimizer
};
template <typename Archive>
void fields(Archive& archive, MixedStep& step) {
  archive(step.end, step.scale, step.good_steps, step.master, step.parameters, step.state);
}

struct MixedReport {
  std::vector<MixedStep> after;  // each step
};
template <typename Archive>
void fields(Archive& archive, MixedReport& report) {
  archive(report.after);
}

}  // namespace lockstep::grader
