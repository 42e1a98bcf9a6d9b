// The exam of interleaved_schedule: plans of all stages, which the judge carries out, prices, and
// whose activations it counts. Any plan within both bounds passes.
#include "grader/exam/schedule/rules.hpp"
#include "grader/judge/compare.hpp"

namespace lockstep::grader::interleaved_schedule {
namespace {

using pipeline::Action;
using pipeline::Pass;

bool valid(const ScheduleQuestion& q) {
  return is_pipeline(q) && q.chunks >= 1 && q.micro_batches % q.stages == 0;
}

ScheduleRules::Bound makespan(const ScheduleQuestion& q) {
  const double pass_s = q.costs.forward_s + q.costs.backward_s;
  return {(q.micro_batches * q.chunks + q.stages - 1) * pass_s, "(m·v+p−1)(tF+tB)"};
}

ScheduleRules::Bound in_flight(const ScheduleQuestion& q, int) {
  return {static_cast<double>(q.stages * q.chunks + q.stages - 1), "p·v+p−1"};
}

// The passes of one kind of stage 0, in order.
std::vector<Action> passes_of(const pipeline::Plan& plan, Pass pass) {
  std::vector<Action> passes;
  std::ranges::copy_if(plan.actions[0], std::back_inserter(passes),
                       [&](const Action& action) { return action.pass == pass; });
  return passes;
}

// The likely cause by the order of stage 0, for a plan that stops or takes too long.
std::optional<Cause> cause_of_order(const pipeline::Plan& plan) {
  const auto forwards = passes_of(plan, Pass::forward), backwards = passes_of(plan, Pass::backward);
  if (plan.chunks == 1) return std::nullopt;
  if (backwards.front().chunk != plan.chunks - 1) {
    return Cause{"chunks_not_turned",
                 "the first gradient comes from the end of the model, so backward passes run "
                 "through the chunks from the last to the first"};
  }
  if (plan.stages > 1 && forwards[1].micro_batch == forwards[0].micro_batch) {
    return Cause{"micro_batch_by_micro_batch",
                 "a micro-batch takes p passes to come back for its next chunk; fill that time "
                 "with the other micro-batches of its group"};
  }
  if (plan.micro_batches > plan.stages && std::ranges::is_sorted(forwards, {}, &Action::chunk)) {
    return Cause{"chunk_by_chunk",
                 "all micro-batches run through one chunk before any runs through the next; go on "
                 "with the next chunk after p micro-batches"};
  }
  return std::nullopt;
}

std::optional<Cause> stuck(const pipeline::Plan& plan) {
  if (auto cause = cause_of_order(plan)) return cause;
  return Cause{"short_warm_up",
               "a backward pass comes before forward passes that other stages need to produce its "
               "gradient; the warm-up must last until the first gradient can be back"};
}

std::optional<Cause> slow(const JudgedPlan& judged, const std::optional<IdleTime>&) {
  return cause_of_order(judged.plan);
}

Cause large(const JudgedPlan& judged, int stage) {
  if (forwards_first(judged.plan.actions[static_cast<std::size_t>(stage)])) {
    return {"gpipe",
            "this runs all forward passes first; a backward pass frees memory, so run it "
            "as soon as its gradient can be there"};
  }
  return cause_of_order(judged.plan)
      .value_or(Cause{"long_warm_up",
                      "the warm-up is too long: it ends when the first gradient can be back"});
}

const ScheduleRules rules{
    .chunks_max = 4,
    .valid = valid,
    .refuses =
        "the micro-batches are a positive multiple of the stages, "
        "stages count from 0, and a stage has a chunk",
    .nonsense = {stage_alone(0, 4, 2, 6), stage_alone(2, 4, 2, 3), stage_alone(1, 3, 2, 4),
                 stage_alone(0, 4, 0, 4), stage_alone(0, 4, -1, 4)},
    .makespan = makespan,
    .in_flight = in_flight,
    .stuck = stuck,
    .slow = slow,
    .large = large};

}  // namespace

Exam exam() {
  return {
      check_of(rules, Aspect::plan,
               "each stage runs each pass over each chunk once, in an order that can be carried "
               "out"),
      check_of(rules, Aspect::makespan, "a step takes (m·v+p−1)(tF+tB), whatever the passes cost"),
      check_of(rules, Aspect::memory, "no stage keeps the activations of more than p·v+p−1 chunks"),
      check_of_nonsense(rules,
                        "what there is not, and micro-batches that the stages do not divide, are "
                        "refused"),
  };
}

}  // namespace lockstep::grader::interleaved_schedule
