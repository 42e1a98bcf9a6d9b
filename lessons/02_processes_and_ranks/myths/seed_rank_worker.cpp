// Sums of small numbers collide; a mixing function takes in one number after the other.
#include <set>

#include "engine/base/seeds.hpp"
#include "lessons/myth.hpp"

using namespace lockstep;

int main() {
  myth::claim("Seed the loader workers with seed + rank + worker.");
  const int ranks = 16, workers = 16;
  std::set<std::uint64_t> added, mixed;
  int shared = 0;  // with the run whose seed is one more
  for (int rank = 0; rank < ranks; ++rank) {
    for (int worker = 0; worker < workers; ++worker) {
      added.insert(std::uint64_t{7} + rank + worker);
      mixed.insert(seeds_for(7, {.data = rank}, worker).augmentation);
    }
  }
  for (const std::uint64_t seed : added) shared += added.contains(seed + 1);
  std::cout << ranks * workers << " workers get\n"
            << "  " << added.size()
            << " different seeds when the numbers are added; the next run has " << shared
            << " of them, too\n"
            << "  " << mixed.size() << " different seeds when they are mixed\n";
  return myth::refuted_if(added.size() == 31 && shared == 30 && mixed.size() == 256,
                          "Sums of small numbers coincide: many workers draw the same numbers, "
                          "and the next seed repeats nearly all of them.");
}
