// Plays flat_shards: a plan for each question.
#include "engine/parallel/zero/flat_shards.hpp"

#include "grader/parts/11_sharding/flat_shards/case.hpp"
#include "grader/play/function_play.hpp"

namespace lockstep::grader {

Bytes play(sim::PlayerCase& played) {
  return answer_or_refuse_each<ShardQuestion>(played, [](const ShardQuestion& question) {
    return zero::flat_shards(question.numels, question.ranks);
  });
}

}  // namespace lockstep::grader
