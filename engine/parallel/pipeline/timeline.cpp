// The clock of a plan.
#include "engine/parallel/pipeline/timeline.hpp"

#include <algorithm>
#include <cmath>

#include "engine/base/error.hpp"
#include "engine/parallel/pipeline/plan.hpp"
#include "engine/parallel/pipeline/progress.hpp"

namespace lockstep::pipeline {
namespace {

void check_costs(const Plan& plan, const Costs& costs) {
  const auto parts = static_cast<std::size_t>(parts_of(plan));
  LOCKSTEP_CHECK(costs.parts.size() == 1 || costs.parts.size() == parts, "pipeline: costs of ",
                 costs.parts.size(), " parts for a plan of ", parts, "; give one, or one each");
  const auto is_time = [](double time) { return std::isfinite(time) && time >= 0; };
  LOCKSTEP_CHECK(is_time(costs.transfer_s), "pipeline: a transfer of ", costs.transfer_s, " s");
  for (const PassCosts& part : costs.parts) {
    for (const Pass pass :
         {Pass::forward, Pass::backward, Pass::input_gradient, Pass::weight_gradient}) {
      LOCKSTEP_CHECK(is_time(cost_of(part, pass)), "pipeline: a pass of ", cost_of(part, pass),
                     " s; a time is finite and not negative");
    }
  }
}

// The activations that a stage keeps, from action to action.
class Kept {
 public:
  explicit Kept(StageTimeline& stage) : stage_(stage) {}
  void after(Pass pass) {
    in_flight_ += pass == Pass::forward;
    for_weights_ += pass == Pass::input_gradient;
    stage_.in_flight_max = std::max(stage_.in_flight_max, in_flight_);
    stage_.kept_for_weights_max = std::max(stage_.kept_for_weights_max, for_weights_);
    in_flight_ -= pass == Pass::backward || pass == Pass::weight_gradient;
    for_weights_ -= pass == Pass::weight_gradient;
  }

 private:
  StageTimeline& stage_;
  int in_flight_ = 0, for_weights_ = 0;
};

}  // namespace

double cost_of(const PassCosts& costs, Pass pass) {
  switch (pass) {
    case Pass::forward:
      return costs.forward_s;
    case Pass::backward:
      return costs.backward_s;
    case Pass::input_gradient:
      return costs.input_gradient_s;
    case Pass::weight_gradient:
      return costs.weight_gradient_s;
  }
  return 0;
}

double PlanTimeline::idle_s() const {
  double idle = 0;
  for (const StageTimeline& stage : stages) idle += makespan_s - stage.busy_s;
  return idle;
}

double PlanTimeline::bubble_of_ideal() const {
  double busy = 0;
  for (const StageTimeline& stage : stages) busy += stage.busy_s;
  return busy > 0 ? idle_s() / busy : 0;
}

double PlanTimeline::bubble_of_total() const {
  const double all = makespan_s * static_cast<double>(stages.size());
  return all > 0 ? idle_s() / all : 0;
}

PlanTimeline price(const Plan& plan, const Costs& costs) {
  check(plan);
  return price_what_runs(plan, costs);
}

PlanTimeline price_what_runs(const Plan& plan, const Costs& costs) {
  check_costs(plan, costs);
  PlanTimeline timeline{plan.chunks, plan.micro_batches};
  timeline.stages.resize(plan.actions.size());
  std::vector<Kept> kept;
  for (StageTimeline& stage : timeline.stages) kept.emplace_back(stage);

  progress_of(plan, [&](int stage, const Action& action, const Products& products) {
    StageTimeline& mine = timeline.stages[static_cast<std::size_t>(stage)];
    double start = mine.spans.empty() ? 0 : mine.spans.back().end_s;
    for (const Need& need : needs_of(plan, stage, action)) {
      const bool is_sent = need.part % plan.stages != stage;
      start = std::max(start, products.at(need) + (is_sent ? costs.transfer_s : 0));
    }
    const auto part = static_cast<std::size_t>(part_of(plan, stage, action));
    const double takes = cost_of(costs.parts[costs.parts.size() == 1 ? 0 : part], action.pass);
    mine.spans.push_back({action, start, start + takes});
    mine.busy_s += takes;
    kept[static_cast<std::size_t>(stage)].after(action.pass);
    timeline.makespan_s = std::max(timeline.makespan_s, start + takes);
    return start + takes;
  });
  return timeline;
}

}  // namespace lockstep::pipeline
