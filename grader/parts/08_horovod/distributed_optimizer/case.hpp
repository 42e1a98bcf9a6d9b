// The case format of distributed_optimizer, shared by adapter and exam: what happens to an
// optimizer in some training steps, event by event.
#pragma once

#include "engine/parallel/horovod/distributed_optimizer.hpp"
#include "grader/play/ask.hpp"
#include "grader/play/ending.hpp"
#include "grader/play/gradients.hpp"
#include "grader/play/part.hpp"

namespace lockstep::grader {

enum class WrappedRule : std::uint8_t { sgd, momentum, adam, adamw };
// In which order the wrapped optimizer has the parameters.
enum class Listed : std::uint8_t { in_order, reversed };

// The same on the trusted side, to say what the update is.
inline std::unique_ptr<optim::Optimizer> make_rule(WrappedRule rule,
                                                   std::vector<Parameter*> parameters) {
  switch (rule) {
    case WrappedRule::momentum:
      return optim::make_sgd(std::move(parameters), {.learning_rate = 0.05, .momentum = 0.9});
    case WrappedRule::adam:
      return optim::make_adam(std::move(parameters), {.learning_rate = 0.01});
    case WrappedRule::adamw:
      return optim::make_adamw(std::move(parameters), {.learning_rate = 0.01, .weight_decay = 0.1});
    default:
      return optim::make_sgd(std::move(parameters), {.learning_rate = 0.1});
  }
}

struct OptimizerCase {
  GroupChoice group{};
  Peer peer = Peer::stays;
  Gradients parameters{};  // none of which has a gradient yet
  Listed listed = Listed::in_order;
  WrappedRule rule = WrappedRule::sgd;
  horovod::Combine combine = horovod::Combine::average;
  double predivide_factor = 1;
  std::int64_t passes = 1;
  std::int64_t threshold_bytes = 0;
  double cycle_s = 0;
};
template <typename Archive>
void fields(Archive& archive, OptimizerCase& c) {
  archive(c.group, c.peer, c.parameters, c.listed, c.rule, c.combine, c.predivide_factor, c.passes,
          c.threshold_bytes, c.cycle_s);
}

// Answered with the rank's next event.
struct OptimizerCall {
  static constexpr const char* service = "training";
};
template <typename Archive>
void fields(Archive&, OptimizerCall&) {}

struct OptimizerEvent {
  enum class Kind : std::uint8_t {
    zero_grad,
    gradient,  // backward adds to a parameter's grad, which is final in this pass
    synchronize,
    scale,                 // every grad is multiplied by `factor`, as clipping does
    step,                  // the grads and values are reported after it, and after:
    skipped_step,          // step() under skip_synchronize()
    step_under_two,        // under two guards
    step_under_the_outer,  // under two guards, the inner of which has ended
    end,                   // the optimizer is gone
    // Calls that are to be refused.
    extra_gradient,
    early_zero_grad,
    early_skipped_step,
    second_synchronize,
    second_step,
    done,
  };
  Kind kind = Kind::done;
  std::uint32_t parameter = 0;
  double factor = 1;
  Bytes values{};
};
template <typename Archive>
void fields(Archive& archive, OptimizerEvent& event) {
  archive(event.kind, event.parameter, event.factor, event.values);
}

struct OptimizerReport {
  std::vector<GradientReports> after;  // each step
  std::vector<Ending> refusals;        // how each call that is to be refused ended
  std::uint64_t hooks_left = 0;        // on the parameters, when the optimizer is gone
  std::uint64_t heard = 0;             // calls of the hooks that are not the optimizer's
};
template <typename Archive>
void fields(Archive& archive, OptimizerReport& report) {
  archive(report.after, report.refusals, report.hooks_left, report.heard);
}

}  // namespace lockstep::grader
