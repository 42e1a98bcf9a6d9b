// Sums of small numbers collide; a mixing function takes the numbers in one after the other.
#include <set>

#include "engine/base/seeds.hpp"
#include "lessons/myth.hpp"

using namespace lockstep;

int main() {
  myth::claim("With seed + rank + worker, each loader worker draws numbers of its own.");
  const int ranks = 16, workers = 16;
  std::set<std::uint64_t> added, mixed;
  for (int rank = 0; rank < ranks; ++rank) {
    for (int worker = 0; worker < workers; ++worker) {
      added.insert(std::uint64_t{42} + rank + worker);
      mixed.insert(seeds_for(42, {.data = rank}, worker).augmentation);
    }
  }
  std::cout << ranks * workers << " workers draw from\n"
            << "  " << added.size() << " streams with seed + rank + worker\n"
            << "  " << mixed.size() << " streams when the numbers are mixed\n";
  return myth::refuted_if(added.size() == 31 && mixed.size() == 256);
}
