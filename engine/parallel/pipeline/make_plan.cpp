// From a schedule to the lists of all stages.
#include "engine/base/error.hpp"
#include "engine/parallel/pipeline/gpipe_schedule.hpp"
#include "engine/parallel/pipeline/interleaved_schedule.hpp"
#include "engine/parallel/pipeline/one_f_one_b_schedule.hpp"
#include "engine/parallel/pipeline/plan.hpp"
#include "engine/parallel/pipeline/zero_bubble_schedule.hpp"

namespace lockstep::pipeline {
namespace {

std::vector<Action> actions_of(Schedule schedule, int stage, const Plan& plan) {
  switch (schedule) {
    case Schedule::gpipe:
      return gpipe(stage, plan.stages, plan.micro_batches);
    case Schedule::one_f_one_b:
      return one_f_one_b(stage, plan.stages, plan.micro_batches);
    case Schedule::interleaved:
      return interleaved(stage, plan.stages, plan.chunks, plan.micro_batches);
    case Schedule::zero_bubble:
      return zero_bubble(stage, plan.stages, plan.micro_batches);
  }
  return {};
}

}  // namespace

Plan make_plan(Schedule schedule, int stages, int chunks, int micro_batches) {
  LOCKSTEP_CHECK(stages >= 1, "pipeline: ", stages, " stages; use at least one");
  LOCKSTEP_CHECK(chunks >= 1, "pipeline: ", chunks, " chunks a stage; use at least one");
  LOCKSTEP_CHECK(micro_batches >= 1, "pipeline: ", micro_batches,
                 " micro-batches; use at least one");
  if (schedule == Schedule::interleaved) {
    LOCKSTEP_CHECK(micro_batches % stages == 0, "pipeline: ", micro_batches, " micro-batches on ",
                   stages, " stages; the interleaved schedule needs a multiple of the stages");
  } else {
    LOCKSTEP_CHECK(chunks == 1, "pipeline: ", chunks,
                   " chunks a stage; only the interleaved schedule has more than one");
  }
  Plan plan{stages, chunks, micro_batches};
  for (int stage = 0; stage < stages; ++stage) {
    plan.actions.push_back(actions_of(schedule, stage, plan));
  }
  check(plan);
  return plan;
}

}  // namespace lockstep::pipeline
