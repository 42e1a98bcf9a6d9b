// The exam of zero_bubble_schedule: plans of all stages, which the judge carries out, prices, and
// whose activations it counts. Any plan within the bounds passes.
#include "grader/exam/schedule_rules.hpp"
#include "grader/judge/compare.hpp"

namespace lockstep::grader::zero_bubble_schedule {
namespace {

using pipeline::Action;
using pipeline::Pass;

bool valid(const ScheduleQuestion& q) {
  return q.first >= 0 && q.last < q.stages && q.micro_batches >= 1;
}

ScheduleRules::Bound makespan(const ScheduleQuestion& q) {
  const auto [f, unused, i, w] = q.costs;
  const int m = q.micro_batches, p = q.stages;
  if (m >= p && w <= std::min(f, i)) {
    return {m * (f + i + w) + (p - 1) * (f + i - w), "m(tF+tI+tW) + (p−1)(tF+tI−tW)"};
  }
  if (f == 1 && i == 1 && w == 1) return {2.0 * m + 2.0 * p - 1, "2m+2p−1"};
  return {(m + p - 1) * (f + i + w), "(m+p−1)(tF+tI+tW), as 1F1B"};
}

ScheduleRules::Bound in_flight(const ScheduleQuestion& q, int) {
  return {static_cast<double>(q.stages), "p"};
}

// Whether each W stands right behind its I on every stage.
bool halves_together(const JudgedPlan& judged) {
  for (const auto& actions : judged.plan.actions) {
    for (std::size_t i = 0; i < actions.size(); ++i) {
      if (actions[i].pass != Pass::input_gradient) continue;
      const Action wanted{Pass::weight_gradient, actions[i].micro_batch};
      if (i + 1 == actions.size() || actions[i + 1] != wanted) return false;
    }
  }
  return true;
}

Cause slow(const JudgedPlan& judged) {
  if (halves_together(judged)) {
    return {"halves_together",
            "every W follows its I at once, which is 1F1B; later stages can put W off, so that "
            "the time at the end is filled"};
  }
  return {"stages_wait",
          "a stage waits for a gradient while another one runs a W that could come later, or has "
          "too few forward passes ahead"};
}

Cause large(const JudgedPlan& judged, int stage) {
  const auto& actions = judged.plan.actions[static_cast<std::size_t>(stage)];
  const bool weights_last = std::ranges::is_partitioned(
      actions, [](const Action& action) { return action.pass != Pass::weight_gradient; });
  if (weights_last) {
    return {"weights_last",
            "all W come at the end, and until then nothing is freed: activations are kept until "
            "W, not until I"};
  }
  return {"too_far_ahead",
          "the passes between F and I and those between I and W are p together, and no more: "
          "stage s has p−s ahead, so it can be s behind"};
}

const ScheduleRules rules{.backward = BackwardPasses::halves,
                          .valid = valid,
                          .refuses = "stages count from 0, and a step has a micro-batch",
                          .makespan = makespan,
                          .in_flight = in_flight,
                          .slow = slow,
                          .large = large};

// With fewer micro-batches than stages, as many, and more; each pass takes 1.
std::vector<ScheduleQuestion> up_to_thirteen() {
  std::vector<ScheduleQuestion> questions{pipeline_of(4, 1, 4), pipeline_of(4, 1, 3),
                                          pipeline_of(8, 1, 24)};
  for (int stages = 1; stages <= 8; ++stages) {
    for (const int micro_batches : {1, 2, 3, 4, 5, 8, 13}) {
      questions.push_back(pipeline_of(stages, 1, micro_batches));
    }
  }
  questions.push_back(pipeline_of(13, 1, 5));
  questions.push_back(pipeline_of(13, 1, 20));
  questions.push_back(pipeline_of(3, 1, 100));
  return questions;
}

// tW ≤ min(tF, tI).
std::vector<ScheduleQuestion> cheap_weight_gradients(CaseRunner& runner) {
  auto questions = drawn_pipelines(runner, 40);
  for (ScheduleQuestion& q : questions) {
    auto& w = q.costs.weight_gradient_s;
    w = std::min({w, q.costs.forward_s, q.costs.input_gradient_s});
    q = pipeline_of(q.stages, 1, q.micro_batches + q.stages, q.costs);
  }
  return questions;
}

// Where the contract promises no more than 1F1B's time: tW > min(tF, tI), or m < p.
std::vector<ScheduleQuestion> other_costs(CaseRunner& runner) {
  auto questions = drawn_pipelines(runner, 80);
  for (ScheduleQuestion& q : questions) {
    if (q.micro_batches < q.stages) continue;
    q.costs.weight_gradient_s += std::min(q.costs.forward_s, q.costs.input_gradient_s);
  }
  return questions;
}

}  // namespace

Exam exam() {
  const auto time = [](CaseRunner& runner, const std::string& what,
                       const std::vector<ScheduleQuestion>& questions) {
    judge(runner, contract_of(rules, Aspect::makespan), what, questions);
  };
  return {
      {"each stage runs each F, I and W once, in an order that can be carried out",
       [](CaseRunner& runner) {
         judge(runner, contract_of(rules, Aspect::plan), "pipelines of 1 to 13 stages",
               up_to_thirteen());
       }},
      {"if each pass takes 1, a step takes 3m+p−1, or 2m+2p−1 with fewer micro-batches than stages",
       [=](CaseRunner& runner) { time(runner, "each pass takes 1", up_to_thirteen()); }},
      {"with tW ≤ min(tF, tI) and m ≥ p, a step takes m(tF+tI+tW) + (p−1)(tF+tI−tW)",
       [=](CaseRunner& runner) { time(runner, "cheap W", cheap_weight_gradients(runner)); }},
      {"with other costs, and with m < p, a step takes no longer than 1F1B's",
       [=](CaseRunner& runner) { time(runner, "other costs", other_costs(runner)); }},
      {"no stage has more than p forward passes whose W has not run",
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

}  // namespace lockstep::grader::zero_bubble_schedule
