// The checks of a pipeline's schedule. The judge puts the stages' lists together, carries them out
// on paper with costs that only it knows, and draws what it saw.
#pragma once

#include "engine/parallel/pipeline/drawing.hpp"
#include "engine/parallel/pipeline/plan.hpp"
#include "grader/exam/function/exam.hpp"
#include "grader/exam/schedule/idle.hpp"
#include "grader/play/schedule_play.hpp"

namespace lockstep::grader {

// The plan that the stages' lists make, and what it costs.
struct JudgedPlan {
  const ScheduleQuestion& question;
  pipeline::Plan plan;
  pipeline::PlanTimeline timeline;
};

// A backward pass is one action, or two.
enum class BackwardPasses : unsigned char { whole, halves };

// A stage of the pipeline, and a micro-batch or more.
bool is_pipeline(const ScheduleQuestion& q);

struct ScheduleRules {
  BackwardPasses backward = BackwardPasses::whole;
  int chunks_max = 1;
  // A right answer exists: what the part must not refuse.
  std::function<bool(const ScheduleQuestion&)> valid = is_pipeline;
  // Why it has to refuse the others.
  std::string refuses = "stages count from 0, and a step has a micro-batch";
  // Further questions to be refused.
  std::vector<ScheduleQuestion> nonsense{};

  struct Bound {
    double of = 0;
    std::string formula{};  // "(m+p−1)(tF+tB)"
  };
  std::function<Bound(const ScheduleQuestion&)> makespan{};
  std::function<Bound(const ScheduleQuestion&, int stage)> in_flight{};

  // The likely cause of stages that wait for each other, where the exam knows more than the circle.
  std::function<std::optional<Cause>(const pipeline::Plan&)> stuck{};
  // The likely cause of a plan that takes too long, where the exam knows its kind; `idle` is where
  // it first loses time, if a stage could have done something else there. And of a plan that keeps
  // too much on a stage.
  std::function<std::optional<Cause>(const JudgedPlan&, const std::optional<IdleTime>& idle)>
      slow{};
  std::function<Cause(const JudgedPlan&, int stage)> large{};
  // A further rule for a plan that is valid and quick enough.
  std::function<std::optional<Failure>(const JudgedPlan&)> order{};
};

// One at a time, so that each has a check of its own. All ask for a plan that can be carried out.
enum class Aspect : unsigned char { plan, makespan, memory, order };

using ScheduleContract = FunctionContract<ScheduleQuestion, ScheduleAnswer>;
ScheduleContract contract_of(const ScheduleRules& rules, Aspect aspect);

// All stages of a pipeline.
ScheduleQuestion pipeline_of(int stages, int chunks, int micro_batches,
                             const pipeline::PassCosts& costs = {});
// One stage alone, for what is refused.
ScheduleQuestion stage_alone(int stage, int stages, int chunks, int micro_batches);

// The pipelines that every rule is asked of: of each number of stages and of chunks, with fewer
// micro-batches than stages, as many and more, and with more than 256.
std::vector<ScheduleQuestion> every_pipeline(const ScheduleRules& rules);
// The same with drawn costs.
std::vector<ScheduleQuestion> priced_pipelines(CaseRunner& runner, const ScheduleRules& rules);
// A rule, asked of all of them, and the check that nonsense is refused.
Check check_of(const ScheduleRules& rules, Aspect aspect, const std::string& name);
Check check_of_nonsense(const ScheduleRules& rules, const std::string& name);
// Costs between 0.1 and 2, with two digits; a whole backward pass is I and W.
pipeline::PassCosts drawn_costs(CaseRunner& runner);

// Every forward pass of the stage comes before its first backward pass.
bool forwards_first(const std::vector<pipeline::Action>& actions);
// No stage has more than one micro-batch in flight.
bool one_at_a_time(const JudgedPlan& judged);

// A valid plan with `mark` in its drawing.
Failure drawn_failure(const JudgedPlan& judged, Verdict verdict, const std::string& message,
                      const std::optional<pipeline::Mark>& mark);

}  // namespace lockstep::grader
