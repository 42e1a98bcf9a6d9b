// The exam of interleaved_schedule: plans of all stages, which the judge carries out, prices, and
// whose activations it counts. Any plan within both bounds passes.
#include "grader/exam/schedule_rules.hpp"
#include "grader/judge/compare.hpp"

namespace lockstep::grader::interleaved_schedule {
namespace {

using pipeline::Action;
using pipeline::Pass;

bool valid(const ScheduleQuestion& q) {
  return q.first >= 0 && q.last < q.stages && q.chunks >= 1 && q.micro_batches >= 1 &&
         q.micro_batches % q.stages == 0;
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

// What the order of stage 0 tells, of a plan that stops or takes too long.
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

Cause slow(const JudgedPlan& judged) {
  return cause_of_order(judged.plan)
      .value_or(Cause{"stages_wait",
                      "a stage waits where it could work: a later stage needs a shorter warm-up, "
                      "since its first gradient is back sooner"});
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

const ScheduleRules rules{.valid = valid,
                          .refuses =
                              "the micro-batches are a positive multiple of the stages, "
                              "stages count from 0, and a stage has a chunk",
                          .makespan = makespan,
                          .in_flight = in_flight,
                          .stuck = stuck,
                          .slow = slow,
                          .large = large};

std::vector<ScheduleQuestion> up_to_thirteen() {
  std::vector<ScheduleQuestion> questions{pipeline_of(2, 2, 4), pipeline_of(4, 2, 8)};
  for (int stages = 1; stages <= 8; ++stages) {
    for (int chunks = 1; chunks <= 4; ++chunks) {
      for (const int groups : {1, 2, 3, 5}) {
        questions.push_back(pipeline_of(stages, chunks, groups * stages));
      }
    }
  }
  questions.push_back(pipeline_of(13, 2, 13));
  questions.push_back(pipeline_of(13, 3, 39));
  questions.push_back(pipeline_of(3, 7, 12));
  questions.push_back(pipeline_of(2, 2, 80));
  return questions;
}

std::vector<ScheduleQuestion> drawn_costs_and_chunks(CaseRunner& runner) {
  std::vector<ScheduleQuestion> questions;
  for (int k = 0; k < 48; ++k) {
    const int stages = 1 + k % 8, chunks = 1 + k / 8 % 4;
    const auto groups = static_cast<int>(runner.draw_between(1, 5));
    questions.push_back(pipeline_of(stages, chunks, groups * stages, drawn_costs(runner)));
  }
  return questions;
}

}  // namespace

Exam exam() {
  return {
      {"each stage runs each pass over each chunk once, in an order that can be carried out",
       [](CaseRunner& runner) {
         judge(runner, contract_of(rules, Aspect::plan), "pipelines of 1 to 13 stages",
               up_to_thirteen());
       }},
      {"a step takes (m·v+p−1)(tF+tB), whatever the passes cost",
       [](CaseRunner& runner) {
         judge(runner, contract_of(rules, Aspect::makespan), "drawn costs",
               drawn_costs_and_chunks(runner));
       }},
      {"no stage keeps the activations of more than p·v+p−1 chunks",
       [](CaseRunner& runner) {
         judge(runner, contract_of(rules, Aspect::memory), "pipelines of 1 to 13 stages",
               up_to_thirteen());
       }},
      {"what there is not, and micro-batches that the stages do not divide, are refused",
       [](CaseRunner& runner) {
         ask(runner, contract_of(rules, Aspect::plan), "what makes no sense",
             {stage_alone(0, 1, 1, 1), stage_alone(0, 4, 2, 6), stage_alone(2, 4, 2, 3),
              stage_alone(1, 3, 2, 4), stage_alone(-1, 4, 2, 4), stage_alone(4, 4, 2, 4),
              stage_alone(0, 0, 2, 4), stage_alone(0, 4, 0, 4), stage_alone(0, 4, 2, 0),
              stage_alone(0, 4, 2, -4)});
       }},
  };
}

}  // namespace lockstep::grader::interleaved_schedule
