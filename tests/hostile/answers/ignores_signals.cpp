// exercise: distributed_sampler
// verdict: time
// says: endless loop
// Ignores every signal it can and computes endlessly.
#include <signal.h>
#include "engine/data/distributed_sampler.hpp"

namespace lockstep::data {

std::vector<std::int64_t> distributed_indices(const SamplerOptions& options) {
  for (int s = 1; s < 32; ++s) ::signal(s, SIG_IGN);
  volatile std::int64_t turns = options.length;
  while (true) turns = turns + 1;
}

}  // namespace lockstep::data
