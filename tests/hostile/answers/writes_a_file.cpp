// exercise: distributed_sampler
// verdict: crash
// says: write a file
// sandboxed: wrong answer
// Writes a file, which is forbidden.
#include <cstdio>
#include "engine/data/distributed_sampler.hpp"

namespace lockstep::data {

std::vector<std::int64_t> distributed_indices(const SamplerOptions& options) {
  if (std::FILE* file = std::fopen("/tmp/lockstep_hostile", "w")) {
    std::fputs("results", file);
    std::fclose(file);
  }
  return std::vector<std::int64_t>(static_cast<std::size_t>(options.length));
}

}  // namespace lockstep::data
