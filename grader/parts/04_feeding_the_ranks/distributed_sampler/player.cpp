// Plays distributed_sampler: a list of questions, one list of indices each.
#include "grader/parts/04_feeding_the_ranks/distributed_sampler/case.hpp"

namespace lockstep::grader {

Bytes play(sim::PlayerCase& played) {
  ByteWriter out;
  for (const data::SamplerOptions& question : decode_sampler_case(played.input)) {
    std::vector<std::int64_t> indices;
    write(out, ending_of<ContractError>([&] { indices = data::distributed_indices(question); }));
    out.put_list(std::span<const std::int64_t>(indices));
  }
  return out.take();
}

}  // namespace lockstep::grader
