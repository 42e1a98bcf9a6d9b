// The exam of gpipe_schedule: plans of all stages, which the judge carries out and prices.
#include "grader/exam/schedule_rules.hpp"
#include "grader/judge/compare.hpp"

namespace lockstep::grader::gpipe_schedule {
namespace {

bool valid(const ScheduleQuestion& q) {
  return q.first >= 0 && q.last < q.stages && q.micro_batches >= 1;
}

ScheduleRules::Bound makespan(const ScheduleQuestion& q) {
  const double pass_s = q.costs.forward_s + q.costs.backward_s;
  return {(q.micro_batches + q.stages - 1) * pass_s, "(m+p−1)(tF+tB)"};
}

Cause slow(const JudgedPlan& judged) {
  if (one_at_a_time(judged)) {
    return {"one_at_a_time",
            "each micro-batch goes down and up the whole pipeline before the next one begins, so "
            "one stage works at a time"};
  }
  return {"stages_wait",
          "stages wait for each other in the middle of the step; list all forward "
          "passes first, in the same order on all stages"};
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

const ScheduleRules rules{.valid = valid,
                          .refuses = "stages count from 0, and a step has a micro-batch",
                          .makespan = makespan,
                          .slow = slow,
                          .order = order};

std::vector<ScheduleQuestion> up_to_thirteen(int from) {
  std::vector<ScheduleQuestion> questions{pipeline_of(4, 1, 4)};
  for (int stages = from; stages <= 8; ++stages) {
    for (const int micro_batches : {1, 2, 5, 8, 13}) {
      questions.push_back(pipeline_of(stages, 1, micro_batches));
    }
  }
  questions.push_back(pipeline_of(13, 1, 5));
  questions.push_back(pipeline_of(13, 1, 20));
  return questions;
}

}  // namespace

Exam exam() {
  return {
      {"each stage runs each pass once, in an order that can be carried out",
       [](CaseRunner& runner) {
         judge(runner, contract_of(rules, Aspect::plan), "pipelines of 1 to 13 stages",
               up_to_thirteen(1));
       }},
      {"a step takes (m+p−1)(tF+tB), whatever the passes cost",
       [](CaseRunner& runner) {
         auto questions = drawn_pipelines(runner, 40);
         questions.push_back(pipeline_of(3, 1, 100));
         judge(runner, contract_of(rules, Aspect::makespan), "drawn costs", questions);
       }},
      {"every forward pass comes before every backward pass",
       [](CaseRunner& runner) {
         // One micro-batch at a time is as quick on a single stage, and told of as slow on others.
         judge(runner, contract_of(rules, Aspect::order), "2 to 13 stages", up_to_thirteen(2));
       }},
      {"a stage that there is not and a step without micro-batches are refused",
       [](CaseRunner& runner) {
         ask(runner, contract_of(rules, Aspect::plan), "what makes no sense",
             {stage_alone(0, 1, 1, 1), stage_alone(-1, 4, 1, 2), stage_alone(4, 4, 1, 2),
              stage_alone(0, 0, 1, 2), stage_alone(0, 4, 1, 0), stage_alone(3, 4, 1, -1)});
       }},
  };
}

}  // namespace lockstep::grader::gpipe_schedule
