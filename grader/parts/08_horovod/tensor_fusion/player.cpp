// Plays tensor_fusion: a plan for each question.
#include "grader/parts/08_horovod/tensor_fusion/case.hpp"

#include "grader/play/function_play.hpp"

namespace lockstep::grader {

Bytes play(sim::PlayerCase& played) {
  return answer_each<FusionQuestion>(played, [](const FusionQuestion& question) {
    return horovod::fuse(question.in_order, question.threshold_bytes);
  });
}

}  // namespace lockstep::grader
