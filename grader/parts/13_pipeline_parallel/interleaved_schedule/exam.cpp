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

// The forward passes of stage 0, in order.
std::vector<Action> forwards_of(const JudgedPlan& judged) {
  std::vector<Action> forwards;
  std::ranges::copy_if(judged.plan.actions[0], std::back_inserter(forwards),
                       [](const Action& action) { return action.pass == Pass::forward; });
  return forwards;
}

Cause slow(const JudgedPlan& judged) {
  const auto forwards = forwards_of(judged);
  const auto &first = forwards[0], &second = forwards[forwards.size() > 1 ? 1 : 0];
  if (judged.plan.stages > 1 && second.micro_batch == first.micro_batch) {
    return {"micro_batch_by_micro_batch",
            "a micro-batch takes p passes to come back for its next chunk; fill that time with the "
            "other micro-batches of its group"};
  }
  if (judged.plan.micro_batches > judged.plan.stages &&
      std::ranges::is_sorted(forwards, {}, &Action::chunk)) {
    return {"chunk_by_chunk",
            "all micro-batches run through one chunk before any runs through the next, so the "
            "first gradient comes late; go on with the next chunk after p micro-batches"};
  }
  return {"stages_wait",
          "a stage waits where it could work: compare the length of the warm-up, and the order of "
          "chunks in the backward passes, with the task"};
}

Cause large(const JudgedPlan& judged, int stage) {
  if (forwards_first(judged.plan.actions[static_cast<std::size_t>(stage)])) {
    return {"gpipe",
            "this runs all forward passes first; a backward pass frees memory, so run it "
            "as soon as its gradient can be there"};
  }
  return {"long_warm_up", "the warm-up is too long"};
}

const ScheduleRules rules{.valid = valid,
                          .refuses =
                              "the micro-batches are a positive multiple of the stages, "
                              "stages count from 0, and a stage has a chunk",
                          .makespan = makespan,
                          .in_flight = in_flight,
                          .slow = slow,
                          .large = large};

std::vector<ScheduleQuestion> one_stage_to_eight() {
  std::vector<ScheduleQuestion> questions{pipeline_of(2, 2, 4), pipeline_of(4, 2, 8)};
  for (int stages = 1; stages <= 8; ++stages) {
    for (int chunks = 1; chunks <= 4; ++chunks) {
      for (const int groups : {1, 2, 3, 5}) {
        questions.push_back(pipeline_of(stages, chunks, groups * stages));
      }
    }
  }
  return questions;
}

std::vector<ScheduleQuestion> drawn_costs_and_chunks(Bench& bench) {
  std::vector<ScheduleQuestion> questions;
  for (int k = 0; k < 48; ++k) {
    const int stages = 1 + k % 8, chunks = 1 + k / 8 % 4;
    const auto groups = static_cast<int>(bench.draw_between(1, 5));
    questions.push_back(pipeline_of(stages, chunks, groups * stages, drawn_costs(bench)));
  }
  return questions;
}

}  // namespace

Exam exam() {
  return {
      {"each stage runs each pass over each chunk once, in an order that can be carried out",
       [](Bench& bench) {
         judge(bench, contract_of(rules, Aspect::plan), "1 to 8 stages", one_stage_to_eight());
       }},
      {"a step takes (m·v+p−1)(tF+tB), whatever the passes cost",
       [](Bench& bench) {
         judge(bench, contract_of(rules, Aspect::makespan), "drawn costs",
               drawn_costs_and_chunks(bench));
       }},
      {"no stage keeps the activations of more than p·v+p−1 chunks",
       [](Bench& bench) {
         judge(bench, contract_of(rules, Aspect::memory), "1 to 8 stages", one_stage_to_eight());
       }},
      {"what there is not, and micro-batches that the stages do not divide, are refused",
       [](Bench& bench) {
         ask(bench, contract_of(rules, Aspect::plan), "what makes no sense",
             {stage_alone(0, 1, 1, 1), stage_alone(0, 4, 2, 6), stage_alone(2, 4, 2, 3),
              stage_alone(1, 3, 2, 4), stage_alone(-1, 4, 2, 4), stage_alone(4, 4, 2, 4),
              stage_alone(0, 0, 2, 4), stage_alone(0, 4, 0, 4), stage_alone(0, 4, 2, 0),
              stage_alone(0, 4, 2, -4)});
       }},
  };
}

}  // namespace lockstep::grader::interleaved_schedule
