// The exam of gpipe_schedule: plans of all stages, which the judge carries out and prices.
#include "grader/exam/schedule/rules.hpp"
#include "grader/judge/compare.hpp"

namespace lockstep::grader::gpipe_schedule {
namespace {

ScheduleRules::Bound makespan(const ScheduleQuestion& q) {
  const double pass_s = q.costs.forward_s + q.costs.backward_s;
  return {(q.micro_batches + q.stages - 1) * pass_s, "(m+p−1)(tF+tB)"};
}

std::optional<Cause> slow(const JudgedPlan& judged, const std::optional<IdleTime>&) {
  const auto& stages = judged.plan.actions;
  const auto mixed = std::ranges::find_if_not(stages, forwards_first);
  if (!one_at_a_time(judged) && mixed == stages.end()) return std::nullopt;
  if (!one_at_a_time(judged)) {
    return Cause{"forward_after_backward",
                 text("stage ", mixed - stages.begin(),
                      " runs forward passes after a backward "
                      "pass; in GPipe, all of them come first, on every stage")};
  }
  return Cause{
      "one_at_a_time",
      "each micro-batch goes down and up the whole pipeline before the next one begins, so "
      "one stage works at a time"};
}

std::optional<Failure> order(const JudgedPlan& judged) {
  for (int stage = 0; stage < judged.plan.stages; ++stage) {
    const auto& actions = judged.plan.actions[static_cast<std::size_t>(stage)];
    if (forwards_first(actions)) continue;
    std::size_t place = 0;
    while (actions[place].pass == pipeline::Pass::forward) ++place;
    while (actions[place].pass != pipeline::Pass::forward) ++place;
    const std::string late = text_of(actions[place]);
    return because(
        {"forward_after_backward",
         "GPipe has two phases; a schedule that mixes them is another one (1F1B, the next task)"},
        drawn_failure(judged, Verdict::wrong_answer,
                      text("stage ", stage, " runs ", late, " after a backward pass"),
                      pipeline::Mark{stage, place, "a forward pass that is late"}));
  }
  return std::nullopt;
}

const ScheduleRules rules{.makespan = makespan, .slow = slow, .order = order};

}  // namespace

Exam exam() {
  return {
      check_of(rules, Aspect::plan,
               "each stage runs each pass once, in an order that can be carried out"),
      check_of(rules, Aspect::makespan, "a step takes (m+p−1)(tF+tB), whatever the passes cost"),
      {"every forward pass comes before every backward pass",
       [](CaseRunner& runner) {
         // One micro-batch at a time is as quick on a single stage, and told of as slow on others.
         auto questions = every_pipeline(rules);
         std::erase_if(questions, [](const ScheduleQuestion& q) { return q.stages == 1; });
         judge(runner, contract_of(rules, Aspect::order), "2 to 300 stages", questions);
       }},
      check_of_nonsense(rules,
                        "a stage that there is not and a step without micro-batches are refused"),
  };
}

}  // namespace lockstep::grader::gpipe_schedule
