// Plays model_memory: a report of each question.
#include "grader/parts/01_why_distribute/model_memory/case.hpp"

#include "grader/play/function_play.hpp"

namespace lockstep::grader {

Bytes play(sim::PlayerCase& played) {
  return answer_or_refuse_each<MemoryQuestion>(played, [](const MemoryQuestion& q) {
    return plan::model_memory(q.parameters, q.recipe, q.saved_per_sample, q.batch);
  });
}

}  // namespace lockstep::grader
