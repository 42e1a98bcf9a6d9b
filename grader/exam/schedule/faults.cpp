#include "grader/exam/schedule/faults.hpp"

#include <algorithm>

#include "engine/base/text.hpp"

namespace lockstep::grader {
namespace {

using pipeline::Action;
using pipeline::FaultKind;
using pipeline::Pass;
using pipeline::Plan;
using pipeline::PlanFault;

// True if forward passes count from 0, and go on behind the last of a few micro-batches.
bool warms_up_too_far(const Plan& plan, const PlanFault& fault) {
  if (plan.micro_batches >= plan.stages || fault.action.micro_batch < plan.micro_batches ||
      fault.action.chunk >= plan.chunks) {
    return false;
  }
  return std::ranges::any_of(
      plan.actions[static_cast<std::size_t>(fault.stage)],
      [](const auto& action) { return action.pass == Pass::forward && action.micro_batch == 0; });
}

// A backward pass that comes before its forward pass. What goes forward first comes back first.
Cause cause_of_early_backward(const Plan& plan, const PlanFault& fault) {
  const auto& actions = plan.actions[static_cast<std::size_t>(fault.stage)];
  const auto first = [&](auto is_meant) {
    return std::ranges::find_if(actions, [&](const Action& one) {
      return one.chunk == fault.action.chunk && is_meant(one.pass);
    });
  };
  const auto there = first([](Pass pass) { return pass == Pass::forward; });
  const auto back = first([](Pass pass) { return pass != Pass::forward; });
  const bool other = there != actions.end() && there->micro_batch != back->micro_batch;
  return {"before_forward",
          other ? text("the backward passes ",
                       plan.chunks > 1 ? text("over chunk ", back->chunk, " ") : "",
                       "begin with micro-batch ", back->micro_batch,
                       ", and the forward passes with micro-batch ", there->micro_batch,
                       ": they take the micro-batches in the same order")
                : text("a backward pass needs the activations of its own forward pass on the same "
                       "stage",
                       plan.chunks == 1
                           ? ""
                           : ", so the warm-up has to reach its chunk: it "
                             "counts passes, of which there are m·v, and not micro-batches")};
}

}  // namespace

Cause cause_of_fault(const Plan& plan, const PlanFault& fault) {
  switch (fault.kind) {
    case FaultKind::sizes:
      return {"no_answer", "each stage returns one list"};
    case FaultKind::no_such_pass:
      if (warms_up_too_far(plan, fault)) {
        return {"no_such_pass",
                "the warm-up goes past the last micro-batch; with fewer micro-batches than stages, "
                "it has all of them and no more"};
      }
      return {
          "no_such_pass",
          fault.action.chunk >= plan.chunks && fault.action.chunk == fault.stage
              ? "this is the stage's number; a chunk counts those of its own stage, from 0"
          : fault.action.chunk >= plan.chunks
              ? "chunks count from 0, and change with every p passes: (pass / p) % v, where p is "
                "the number of stages and v that of chunks"
              : "micro-batches count from 0, and no loop, the warm-up neither, runs more passes "
                "than there are, m·v"};
    case FaultKind::doubled:
      return {"twice", "each pass runs once; when one loop ends, the next one goes on from there"};
    case FaultKind::missing:
      return {"missing",
              "each pass of each micro-batch is in the list of each stage; the loops end too "
              "early, or begin too late"};
    case FaultKind::no_forward_yet:
      return cause_of_early_backward(plan, fault);
    case FaultKind::no_gradient_yet:
      return {"weights_before_input",
              "I computes the gradients that W multiplies with the activations"};
    case FaultKind::circle:
      return {"circle",
              "a stage waits for a gradient before it gives the other stage what that one needs "
              "first; later stages need fewer forward passes ahead, not more"};
  }
  return {};
}

}  // namespace lockstep::grader
