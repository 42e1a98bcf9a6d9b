// The exam of zero_bubble_schedule: plans of all stages, which the judge carries out, prices, and
// whose activations it counts. Any plan within the bounds passes.
#include "grader/exam/schedule/rules.hpp"
#include "grader/judge/compare.hpp"

namespace lockstep::grader::zero_bubble_schedule {
namespace {

using pipeline::Action;
using pipeline::Pass;

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

// True if each W stands right behind its I.
bool halves_together(const std::vector<Action>& actions) {
  for (std::size_t i = 0; i < actions.size(); ++i) {
    if (actions[i].pass != Pass::input_gradient) continue;
    const Action wanted{Pass::weight_gradient, actions[i].micro_batch};
    if (i + 1 == actions.size() || actions[i + 1] != wanted) return false;
  }
  return true;
}

std::optional<Cause> slow(const JudgedPlan& judged, const std::optional<IdleTime>&) {
  const auto& stages = judged.plan.actions;
  const auto found = std::find_if(stages.begin() + 1, stages.end(), halves_together);
  if (found == stages.end()) return std::nullopt;
  return Cause{"halves_together",
               text("stage ", found - stages.begin(),
                    " runs every W right behind its I, as in 1F1B; all stages but the first can "
                    "put W off, so that the time at the end is filled")};
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
                          .makespan = makespan,
                          .in_flight = in_flight,
                          .slow = slow,
                          .large = large};

// tW ≤ min(tF, tI), and m ≥ p.
std::vector<ScheduleQuestion> cheap_weight_gradients(CaseRunner& runner) {
  auto questions = priced_pipelines(runner, rules);
  std::erase_if(questions, [](const auto& q) { return q.micro_batches < q.stages; });
  for (ScheduleQuestion& q : questions) {
    auto& w = q.costs.weight_gradient_s;
    w = std::min({w, q.costs.forward_s, q.costs.input_gradient_s});
  }
  return questions;
}

// Cases in which the contract promises no more than 1F1B's time: tW > min(tF, tI), or m < p.
std::vector<ScheduleQuestion> other_costs(CaseRunner& runner) {
  auto questions = priced_pipelines(runner, rules);
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
      check_of(rules, Aspect::plan,
               "each stage runs each F, I and W once, in an order that can be carried out"),
      {"if each pass takes 1, a step takes 3m+p−1, or 2m+2p−1 with fewer micro-batches than stages",
       [=](CaseRunner& runner) { time(runner, "each pass takes 1", every_pipeline(rules)); }},
      {"with tW ≤ min(tF, tI) and m ≥ p, a step takes m(tF+tI+tW) + (p−1)(tF+tI−tW)",
       [=](CaseRunner& runner) { time(runner, "cheap W", cheap_weight_gradients(runner)); }},
      {"with other costs, and with m < p, a step takes no longer than 1F1B's",
       [=](CaseRunner& runner) { time(runner, "other costs", other_costs(runner)); }},
      check_of(rules, Aspect::memory,
               "no stage has more than p forward passes whose W has not run"),
      check_of_nonsense(rules,
                        "a stage that there is not and a step without micro-batches are refused"),
  };
}

}  // namespace lockstep::grader::zero_bubble_schedule
