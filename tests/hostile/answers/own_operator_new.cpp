// exercise: distributed_sampler
// verdict: wrong answer
// says: was expected
// Replaces operator new, in the student's own process.
#include <cstdlib>
#include <new>
#include "engine/data/distributed_sampler.hpp"

void* operator new(std::size_t size) { return std::malloc(size + 64); }
void operator delete(void* at) noexcept { std::free(at); }
void operator delete(void* at, std::size_t) noexcept { std::free(at); }

namespace lockstep::data {

std::vector<std::int64_t> distributed_indices(const SamplerOptions& options) {
  return std::vector<std::int64_t>(static_cast<std::size_t>(options.length));
}

}  // namespace lockstep::data
