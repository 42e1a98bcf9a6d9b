// Plays top_k_error_feedback: gradients that the judge drew, call after call, each with the
// residual of its bucket.
#include "grader/parts/10_compression/top_k_error_feedback/case.hpp"

#include "engine/parallel/compress/top_k.hpp"

namespace lockstep::grader {

Bytes play(sim::PlayerCase& played) {
  return play_lossy<TopKSettings>(
      played, [](comm::ProcessGroup& group, const TopKSettings& settings, const Tensor& gradient,
                 const Tensor& residual, std::size_t) {
        return compress::top_k_reduce(group, gradient, residual, settings.fraction);
      });
}

}  // namespace lockstep::grader
