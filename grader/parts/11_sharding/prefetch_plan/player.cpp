// Plays prefetch_plan: the list of one pass for each question.
#include "engine/parallel/zero/prefetch_plan.hpp"

#include "grader/parts/11_sharding/prefetch_plan/case.hpp"
#include "grader/play/function_play.hpp"

namespace lockstep::grader {

Bytes play(sim::PlayerCase& played) {
  return answer_or_refuse_each<PrefetchQuestion>(played, [](const PrefetchQuestion& question) {
    const bool forward = question.direction == Direction::forward;
    return forward ? zero::forward_order(question.units, question.limit)
                   : zero::backward_order(question.units, question.limit);
  });
}

}  // namespace lockstep::grader
