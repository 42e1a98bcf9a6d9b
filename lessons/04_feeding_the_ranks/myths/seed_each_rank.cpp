// Ranks see different samples because they take different places of one order.
#include <algorithm>
#include <vector>

#include "engine/data/distributed_sampler.hpp"
#include "lessons/myth.hpp"

using namespace lockstep;

namespace {

constexpr int samples = 10'000, ranks = 8;

// How many ranks read each sample; the seed of rank r is r·step.
std::vector<int> reads_with(int step) {
  std::vector<int> reads(samples);
  for (int rank = 0; rank < ranks; ++rank) {
    const auto seed = static_cast<std::uint64_t>(rank * step);
    for (const auto index : data::distributed_indices(
             {.length = samples, .rank = rank, .ranks = ranks, .seed = seed})) {
      ++reads[static_cast<std::size_t>(index)];
    }
  }
  return reads;
}

}  // namespace

int main() {
  myth::claim("Seed each rank differently, so that they see different samples.");
  const auto same = reads_with(0), own = reads_with(1);
  std::cout << "one epoch of " << samples << " samples on " << ranks << " ranks\n"
            << "  one seed:             " << std::ranges::count(same, 1) << " are read once\n"
            << "  a seed for each rank: " << std::ranges::count(own, 1) << " are read once, "
            << std::ranges::count(own, 0) << " never, and one by " << std::ranges::max(own)
            << " ranks\n";
  return myth::refuted_if(
      std::ranges::count(same, 1) == samples && std::ranges::count(own, 0) > samples / 4,
      "The shares are disjoint only if all ranks shuffle alike, so the "
      "sampler needs the same seed on every rank.");
}
