// Without set_epoch the sampler shuffles, and by the same permutation every time.
#include <vector>

#include "engine/data/distributed_sampler.hpp"
#include "lessons/myth.hpp"

using namespace lockstep;

namespace {

std::vector<std::int64_t> shown(const char* when, int epoch) {
  const auto indices =
      data::distributed_indices({.length = 16, .rank = 0, .ranks = 4, .epoch = epoch});
  std::cout << "  " << when;
  for (const std::int64_t index : indices) std::cout << " " << index;
  std::cout << "\n";
  return indices;
}

}  // namespace

int main() {
  myth::claim("Without set_epoch, rank 0 of 4 reads the samples 0, 4, 8, 12 in every epoch.");
  std::cout << "rank 0 of 4 reads, of 16 samples\n";
  const auto first = shown("in the first epoch                    ", 0);
  const auto without = shown("in the second epoch without set_epoch ", 0);
  const auto with = shown("in the second epoch with set_epoch(1) ", 1);
  return myth::refuted_if(first != std::vector<std::int64_t>{0, 4, 8, 12} && without == first &&
                          with != first);
}
