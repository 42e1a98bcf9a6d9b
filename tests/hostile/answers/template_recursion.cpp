// exercise: distributed_sampler
// verdict: compile error
// says: template
// An endless template: the compiler gives up by itself.
#include "engine/data/distributed_sampler.hpp"

template <int N>
struct Deep {
  static constexpr int value = Deep<N + 1>::value + 1;
};

namespace lockstep::data {

std::vector<std::int64_t> distributed_indices(const SamplerOptions& options) {
  return {Deep<0>::value, options.rank};
}

}  // namespace lockstep::data
