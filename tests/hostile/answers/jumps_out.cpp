// exercise: distributed_sampler
// verdict: crash
// says: SIG
// Jumps through a jump buffer that was never set.
#include <csetjmp>
#include "engine/data/distributed_sampler.hpp"

namespace lockstep::data {

std::vector<std::int64_t> distributed_indices(const SamplerOptions& options) {
  std::jmp_buf nowhere{};
  std::longjmp(nowhere, 1 + options.rank);
}

}  // namespace lockstep::data
