// Plays train_3d: sums or a count for each question.
#include "engine/parallel/mesh/train_3d.hpp"

#include "grader/parts/16_hybrid_parallel/train_3d/case.hpp"
#include "grader/play/function_play.hpp"

namespace lockstep::grader {

Bytes play(sim::PlayerCase& played) {
  return answer_or_refuse_each<TrainQuestion>(played, [](const TrainQuestion& q) {
    TrainAnswer answer;
    std::vector<mesh::GradientKind> kinds;
    for (const KindBits& gradient : q.gradients) kinds.push_back(gradient.kind());
    if (q.form == TrainForm::norm) {
      answer.counts = mesh::counts_in_norm(kinds.front(), q.at);
      return answer;
    }
    for (const auto& sum : mesh::reduce_gradients_3d(q.sizes, kinds, q.after)) {
      answer.sums.push_back({sum.gradient, bits_of(sum.over), sum.factor});
    }
    return answer;
  });
}

}  // namespace lockstep::grader
