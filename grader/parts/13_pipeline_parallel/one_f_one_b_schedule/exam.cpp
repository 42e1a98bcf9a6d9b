// The exam of one_f_one_b_schedule: plans of all stages, which the judge carries out, prices, and
// whose activations it counts.
#include "grader/exam/schedule_rules.hpp"
#include "grader/judge/compare.hpp"

namespace lockstep::grader::one_f_one_b_schedule {
namespace {

bool valid(const ScheduleQuestion& q) {
  return q.first >= 0 && q.last < q.stages && q.micro_batches >= 1;
}

ScheduleRules::Bound makespan(const ScheduleQuestion& q) {
  const double pass_s = q.costs.forward_s + q.costs.backward_s;
  return {(q.micro_batches + q.stages - 1) * pass_s, "(m+p−1)(tF+tB)"};
}

ScheduleRules::Bound in_flight(const ScheduleQuestion& q, int stage) {
  return {static_cast<double>(std::min(q.stages - stage, q.micro_batches)), "min(p−s, m)"};
}

Cause slow(const JudgedPlan&) {
  return {"short_warm_up",
          "a stage has too few forward passes ahead to stay busy until its first gradient is back; "
          "stage s needs p−s of them, with the one that its first backward pass belongs to"};
}

Cause large(const JudgedPlan& judged, int stage) {
  if (forwards_first(judged.plan.actions[static_cast<std::size_t>(stage)])) {
    return {"gpipe",
            "this runs all forward passes first, as GPipe does; a backward pass frees "
            "memory, so run it as soon as its gradient can be there"};
  }
  return {"long_warm_up",
          "the warm-up is too long; a later stage gets its first gradient sooner, so it needs "
          "fewer forward passes ahead"};
}

const ScheduleRules rules{.valid = valid,
                          .refuses = "stages count from 0, and a step has a micro-batch",
                          .makespan = makespan,
                          .in_flight = in_flight,
                          .slow = slow,
                          .large = large};

// With fewer micro-batches than stages, as many, and more.
std::vector<ScheduleQuestion> up_to_thirteen() {
  std::vector<ScheduleQuestion> questions{pipeline_of(4, 1, 8)};
  for (int stages = 1; stages <= 8; ++stages) {
    for (const int micro_batches : {1, 2, 3, 5, 8, 13}) {
      questions.push_back(pipeline_of(stages, 1, micro_batches));
    }
  }
  questions.push_back(pipeline_of(13, 1, 5));
  questions.push_back(pipeline_of(13, 1, 20));
  questions.push_back(pipeline_of(3, 1, 100));
  return questions;
}

}  // namespace

Exam exam() {
  return {
      {"each stage runs each pass once, in an order that can be carried out",
       [](CaseRunner& runner) {
         judge(runner, contract_of(rules, Aspect::plan), "pipelines of 1 to 13 stages",
               up_to_thirteen());
       }},
      {"a step takes as long as GPipe's, (m+p−1)(tF+tB), whatever the passes cost",
       [](CaseRunner& runner) {
         judge(runner, contract_of(rules, Aspect::makespan), "drawn costs",
               drawn_pipelines(runner, 40));
       }},
      {"stage s keeps the activations of at most min(p−s, m) micro-batches",
       [](CaseRunner& runner) {
         judge(runner, contract_of(rules, Aspect::memory), "pipelines of 1 to 13 stages",
               up_to_thirteen());
       }},
      {"a stage that there is not and a step without micro-batches are refused",
       [](CaseRunner& runner) {
         ask(runner, contract_of(rules, Aspect::plan), "what makes no sense",
             {stage_alone(0, 1, 1, 1), stage_alone(-1, 4, 1, 2), stage_alone(4, 4, 1, 2),
              stage_alone(0, 0, 1, 2), stage_alone(0, 4, 1, 0), stage_alone(3, 4, 1, -1)});
       }},
  };
}

}  // namespace lockstep::grader::one_f_one_b_schedule
