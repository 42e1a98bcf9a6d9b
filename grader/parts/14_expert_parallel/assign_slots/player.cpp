// Plays assign_slots: a plan for the routes of each question.
#include "grader/parts/14_expert_parallel/assign_slots/case.hpp"
#include "grader/play/function_play.hpp"

namespace lockstep::grader {

Bytes play(sim::PlayerCase& played) {
  return answer_or_refuse_each<SlotQuestion>(played, [](const SlotQuestion& q) {
    return expert_parallel::assign_slots(q.routes, q.experts, q.capacity_factor);
  });
}

}  // namespace lockstep::grader
