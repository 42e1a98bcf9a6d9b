// 10,000 samples on 8 ranks that stride over one order, or each over an order of its own: how many
// samples are read how often in one epoch.
#include <array>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "engine/base/random.hpp"

int main() {
  std::puts("\"Seed each rank differently, so that they see different samples.\"");
  constexpr int samples = 10'000, ranks = 8;
  for (const bool seed_each_rank : std::array{false, true}) {
    std::vector<int> read(samples);
    for (int rank = 0; rank < ranks; ++rank) {
      const auto order = lockstep::random_permutation(
          samples, seed_each_rank ? static_cast<std::uint64_t>(rank) : 0);
      for (int place = rank; place < samples; place += ranks) {
        ++read[static_cast<std::size_t>(order[static_cast<std::size_t>(place)])];
      }
    }
    std::array<int, 3> times{};  // never, once, more than once
    for (const int count : read) ++times[static_cast<std::size_t>(count < 2 ? count : 2)];
    std::printf("%s: %4d never, %5d once, %4d more than once\n",
                seed_each_rank ? "seed + rank" : "one seed   ", times[0], times[1], times[2]);
  }
}
