// Plays reshard_plan: a plan for each question, or that no source has what the rank holds.
#include "grader/parts/17_fault_tolerance/reshard_plan/case.hpp"
#include "grader/play/function_play.hpp"

namespace lockstep::grader {

Bytes play(sim::PlayerCase& played) {
  return answer_or_refuse_each<ReshardQuestion>(
      played, [](const ReshardQuestion& q) { return answer_of(checkpoint::reshard, q); });
}

}  // namespace lockstep::grader
