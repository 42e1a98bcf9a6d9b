// exercise: distributed_sampler
// verdict: traffic limit
// says: strands in one case
// Starts and ends strands endlessly: never silent, never asking.
#include <unistd.h>
#include "engine/data/distributed_sampler.hpp"

struct End {
  std::uint32_t length;
  std::uint16_t kind, strand;
  std::uint32_t sequence;
};
struct Start {
  std::uint32_t length;
  std::uint16_t kind, strand;
  std::uint32_t sequence;
  std::int32_t parent;
  std::uint32_t name_length[2];
};

namespace lockstep::data {

std::vector<std::int64_t> distributed_indices(const SamplerOptions& options) {
  for (std::uint32_t i = 0; i < 2'000'000'000U; i += 2) {
    const auto strand = static_cast<std::uint16_t>(1 + i / 2);
    Start start{12, 17, strand, i, 0, {0, 0}};
    End end{0, 18, strand, i + 1};
    static_cast<void>(!::write(3, &start, sizeof start));
    static_cast<void>(!::write(3, &end, sizeof end));
  }
  return std::vector<std::int64_t>(static_cast<std::size_t>(options.length));
}

}  // namespace lockstep::data
