// Plays node_layout: an environment or a place for each question.
#include "grader/parts/02_processes_and_ranks/node_layout/case.hpp"

#include "grader/play/function_play.hpp"

namespace lockstep::grader {

Bytes play(sim::PlayerCase& played) {
  return answer_or_refuse_each<LayoutQuestion>(played, [](const LayoutQuestion& q) {
    LayoutAnswer answer;
    if (q.form == LayoutForm::place) {
      answer.place = launch::place_of(q.ranks_per_node, q.rank);
    } else {
      answer.environment =
          launch::worker_environment(q.ranks_per_node, q.node, q.local_rank, q.master);
    }
    return answer;
  });
}

}  // namespace lockstep::grader
