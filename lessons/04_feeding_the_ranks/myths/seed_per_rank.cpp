// Ranks see different samples because they take different places of one order.
#include <map>
#include <vector>

#include "engine/data/distributed_sampler.hpp"
#include "lessons/myth.hpp"

using namespace lockstep;

namespace {

// How many of 10,000 samples are read by no rank, by one, by two, …
std::vector<int> readers(int seed_step) {
  std::map<std::int64_t, int> reads;
  for (int rank = 0; rank < 4; ++rank) {
    const auto seed = static_cast<std::uint64_t>(42 + seed_step * rank);
    for (const std::int64_t index :
         data::distributed_indices({.length = 10'000, .rank = rank, .ranks = 4, .seed = seed}))
      ++reads[index];
  }
  std::vector<int> by_readers(5);
  by_readers[0] = 10'000 - static_cast<int>(reads.size());
  for (const auto& [index, count] : reads) ++by_readers[static_cast<std::size_t>(count)];
  return by_readers;
}

}  // namespace

int main() {
  myth::claim("Seed each rank's sampler differently, so that the ranks see different samples.");
  const auto same = readers(0), different = readers(1);
  std::cout << "one epoch of 10,000 samples on 4 ranks\n"
            << "  one seed: one rank reads " << same[1] << ", no rank " << same[0] << "\n"
            << "  a seed for each rank: one rank reads " << different[1] << ", no rank "
            << different[0] << ", several ranks " << 10'000 - different[0] - different[1] << "\n";
  return myth::refuted_if(same[1] == 10'000 && different[0] > 2'500);
}
