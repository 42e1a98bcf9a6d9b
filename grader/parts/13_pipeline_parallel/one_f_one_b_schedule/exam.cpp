// The exam of one_f_one_b_schedule: plans of all stages, which the judge carries out, prices, and
// whose activations it counts.
#include "grader/exam/schedule/rules.hpp"
#include "grader/judge/compare.hpp"

namespace lockstep::grader::one_f_one_b_schedule {
namespace {

ScheduleRules::Bound makespan(const ScheduleQuestion& q) {
  const double pass_s = q.costs.forward_s + q.costs.backward_s;
  return {(q.micro_batches + q.stages - 1) * pass_s, "(m+p−1)(tF+tB)"};
}

ScheduleRules::Bound in_flight(const ScheduleQuestion& q, int stage) {
  return {static_cast<double>(std::min(q.stages - stage, q.micro_batches)), "min(p−s, m)"};
}

Cause large(const JudgedPlan& judged, int stage) {
  const auto& actions = judged.plan.actions[static_cast<std::size_t>(stage)];
  if (forwards_first(actions)) {
    return {"gpipe",
            "this runs all forward passes first, as GPipe does; a backward pass frees "
            "memory, so run it as soon as its gradient can be there"};
  }
  const auto back = std::ranges::find(actions, pipeline::Pass::backward, &pipeline::Action::pass);
  if (static_cast<double>(back - actions.begin()) <= in_flight(judged.question, stage).of) {
    return {"forwards_in_a_row",
            "the warm-up is not too long, but behind it, forward passes follow each other: one "
            "backward and one forward pass take turns"};
  }
  return {"long_warm_up",
          "the warm-up is too long; a later stage gets its first gradient sooner, so it needs "
          "fewer forward passes ahead"};
}

std::optional<Cause> slow(const JudgedPlan&, const std::optional<IdleTime>& idle) {
  const bool ahead = idle && idle->could_run.pass == pipeline::Pass::forward;
  if (!ahead || idle->phase != PipelinePhase::warm_up) return std::nullopt;
  return Cause{"short_warm_up",
               text("stage ", idle->mark.stage,
                    " has too few forward passes ahead to stay busy until its first gradient is "
                    "back; stage s needs p−s of them, with the one that its first backward pass "
                    "belongs to")};
}

const ScheduleRules rules{
    .makespan = makespan, .in_flight = in_flight, .slow = slow, .large = large};

}  // namespace

Exam exam() {
  return {
      check_of(rules, Aspect::plan,
               "each stage runs each pass once, in an order that can be carried out"),
      check_of(rules, Aspect::makespan,
               "a step takes as long as GPipe's, (m+p−1)(tF+tB), whatever the passes cost"),
      check_of(rules, Aspect::memory,
               "stage s keeps the activations of at most min(p−s, m) micro-batches"),
      check_of_nonsense(rules,
                        "a stage that there is not and a step without micro-batches are refused"),
  };
}

}  // namespace lockstep::grader::one_f_one_b_schedule
