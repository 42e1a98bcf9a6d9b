// Plays random_k: gradients that the judge drew, call after call, each with a seed of its own.
#include "grader/parts/10_compression/random_k/case.hpp"

#include "engine/parallel/compress/random_k.hpp"

namespace lockstep::grader {

Bytes play(sim::PlayerCase& played) {
  return play_lossy<RandomKSettings>(
      played, [](comm::ProcessGroup& group, const RandomKSettings& settings, const Tensor& gradient,
                 const Tensor&, std::size_t call) {
        return compress::random_k_reduce(group, gradient, settings.k, settings.seed_of(call));
      });
}

}  // namespace lockstep::grader
