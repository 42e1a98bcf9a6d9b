// Task: be one stage of a pipeline. Carry out the actions of the plan for this stage, in their
// order: get what a pass needs, run it, and pass on what it made. A message must travel while the
// stage works: post each receive one action ahead, and do not wait for a send. Each weight enters
// once, where the backward pass of its micro-batch begins.
// The contract is in engine/parallel/pipeline/run_stage.hpp; which stage gives an action what it
// needs is in engine/parallel/pipeline/outbox.hpp.
#include "engine/parallel/pipeline/run_stage.hpp"

#include <map>
#include <utility>

#include "engine/base/error.hpp"
#include "engine/parallel/pipeline/outbox.hpp"
#include "engine/tensor/ops.hpp"

namespace lockstep::pipeline {
namespace {

// >>> your code
// <<< your code

}  // namespace

StageResult run_stage(comm::Peers& stages, Stage& mine, const Plan& plan,
                      std::span<const double> weights) {
  LOCKSTEP_CHECK(plan.stages == stages.size() && plan.chunks == mine.chunks() &&
                     plan.micro_batches == std::ssize(weights) &&
                     std::ssize(plan.actions) == plan.stages,
                 "run_stage: a plan for ", plan.stages, " stages of ", plan.chunks, " chunks and ",
                 plan.micro_batches, " micro-batches, but here are ", stages.size(), " of ",
                 mine.chunks(), ", and ", weights.size(), " micro-batches");
  // >>> your code
  // Avoids warnings about parameters that are not used yet.
  (void)stages, (void)mine, (void)plan, (void)weights;
  throw NotImplemented("run_stage");
  // <<< your code
}

}  // namespace lockstep::pipeline
