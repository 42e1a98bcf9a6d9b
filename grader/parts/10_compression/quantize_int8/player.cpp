// Plays quantize_int8: tensors whose elements the judge drew, call after call.
#include "grader/parts/10_compression/quantize_int8/case.hpp"

#include "engine/parallel/compress/quantize.hpp"

namespace lockstep::grader {

Bytes play(sim::PlayerCase& played) {
  return play_lossy<QuantizeSettings>(
      played, [](comm::ProcessGroup& group, const QuantizeSettings& settings, const Tensor& data,
                 const Tensor&, std::size_t) {
        return compress::quantized_all_reduce(group, data, settings.chunk);
      });
}

}  // namespace lockstep::grader
