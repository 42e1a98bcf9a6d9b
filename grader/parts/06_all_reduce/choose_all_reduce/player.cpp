// Plays choose_all_reduce: a choice for each question.
#include "grader/parts/06_all_reduce/choose_all_reduce/case.hpp"

#include "grader/play/function_play.hpp"

namespace lockstep::grader {

Bytes play(sim::PlayerCase& played) {
  return answer_each<ChoiceQuestion>(played, [](const ChoiceQuestion& q) {
    return collectives::choose_all_reduce(q.links, q.ranks, q.ranks_per_node, q.bytes);
  });
}

}  // namespace lockstep::grader
