// Plays distributed_sampler: the indices that each question asks for.
#include "grader/parts/04_feeding_the_ranks/distributed_sampler/case.hpp"

#include "grader/play/function_play.hpp"

namespace lockstep::grader {

Bytes play(sim::PlayerCase& played) {
  return answer_or_refuse_each<data::SamplerOptions>(played, data::distributed_indices);
}

}  // namespace lockstep::grader
