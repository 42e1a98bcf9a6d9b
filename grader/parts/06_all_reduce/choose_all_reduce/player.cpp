// Plays choose_all_reduce: a list of questions, one choice each.
#include "grader/parts/06_all_reduce/choose_all_reduce/case.hpp"

namespace lockstep::grader {

Bytes play(sim::PlayerCase& played) {
  ByteWriter out;
  for (const ChoiceQuestion& q : decode_choice_questions(played.input)) {
    const auto choice = collectives::choose_all_reduce(q.links, q.ranks, q.ranks_per_node, q.bytes);
    out.put(choice.algorithm);
    for (const double seconds : choice.seconds) out.put(seconds);
  }
  return out.take();
}

}  // namespace lockstep::grader
