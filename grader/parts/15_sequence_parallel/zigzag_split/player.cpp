// Plays zigzag_split: a slice or a place for each question.
#include "grader/parts/15_sequence_parallel/zigzag_split/case.hpp"
#include "grader/play/function_play.hpp"

namespace lockstep::grader {

Bytes play(sim::PlayerCase& played) {
  return answer_or_refuse_each<ZigzagQuestion>(played, [](const ZigzagQuestion& q) {
    ZigzagAnswer answer;
    if (q.asked == ZigzagAsked::slice) {
      answer.slice = sequence_parallel::zigzag(q.length, q.ranks, q.rank);
    } else {
      answer.place = sequence_parallel::zigzag_place(q.length, q.ranks, q.position);
    }
    return answer;
  });
}

}  // namespace lockstep::grader
