// How many different seeds 16 ranks with 16 loader workers each have, added up and mixed.
#include <cstdint>
#include <cstdio>
#include <set>

#include "engine/base/random.hpp"

int main() {
  std::puts("\"Seed the loader workers with seed + rank + worker.\"");
  constexpr std::uint64_t seed = 7;
  std::set<std::uint64_t> added, added_next_run, mixed;
  for (std::uint64_t rank = 0; rank < 16; ++rank) {
    for (std::uint64_t worker = 0; worker < 16; ++worker) {
      added.insert(seed + rank + worker);
      added_next_run.insert(seed + 1 + rank + worker);
      mixed.insert(lockstep::random_bits(lockstep::random_bits(seed, rank), worker));
    }
  }
  std::size_t shared = 0;
  for (const std::uint64_t number : added) shared += added_next_run.count(number);
  std::printf("256 workers, added:  %zu different seeds\n", added.size());
  std::printf("256 workers, mixed:  %zu different seeds\n", mixed.size());
  std::printf("added, runs with seeds %d and %d: %zu seeds in common\n", 7, 8, shared);
}
