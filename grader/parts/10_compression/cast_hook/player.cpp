// Plays cast_hook: buckets whose elements the judge drew, call after call.
#include "grader/parts/10_compression/cast_hook/case.hpp"

#include "engine/parallel/compress/cast.hpp"

namespace lockstep::grader {

Bytes play(sim::PlayerCase& played) {
  return play_lossy<CastSettings>(
      played, [](comm::ProcessGroup& group, const CastSettings& settings, const Tensor& bucket,
                 const Tensor&,
                 std::size_t) { return compress::cast_reduce(group, bucket, settings.half); });
}

}  // namespace lockstep::grader
