// Plays a schedule of a pipeline: what each stage does, asked stage by stage. Who plays it knows
// the numbers of stages, chunks and micro-batches; what a pass costs stays with the judge.
#pragma once

#include "engine/parallel/pipeline/timeline.hpp"
#include "grader/play/function_play.hpp"

namespace lockstep::pipeline {

template <typename Archive>
void fields(Archive& archive, Action& action) {
  archive(action.pass, action.micro_batch, action.chunk);
}

}  // namespace lockstep::pipeline

namespace lockstep::grader {

struct ScheduleQuestion {
  int stages = 1;
  int chunks = 1;
  int micro_batches = 1;
  // The stages that are asked.
  int first = 0;
  int last = 0;
  pipeline::PassCosts costs{};  // not sent
};
template <typename Archive>
void fields(Archive& archive, ScheduleQuestion& question) {
  archive(question.stages, question.chunks, question.micro_batches, question.first, question.last);
}

// By stage.
using ScheduleAnswer = std::vector<std::vector<pipeline::Action>>;

// part(stage, question) is the list of one stage.
Bytes answer_schedules(sim::PlayerCase& played, const auto& part) {
  return answer_or_refuse_each<ScheduleQuestion>(played, [&](const ScheduleQuestion& question) {
    ScheduleAnswer answer;
    for (int stage = question.first; stage <= question.last; ++stage) {
      answer.push_back(part(stage, question));
    }
    return answer;
  });
}

}  // namespace lockstep::grader
