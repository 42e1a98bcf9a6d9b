// The sampler strides: rank r takes the places r, r + N, r + 2N, … of the epoch's order.
#include <vector>

#include "engine/data/distributed_sampler.hpp"
#include "lessons/myth.hpp"

using namespace lockstep;

int main() {
  myth::claim("Rank r reads the r-th contiguous part.");
  std::vector<std::int64_t> second;
  for (int rank = 0; rank < 3; ++rank) {
    second = data::distributed_indices(
        {.length = 12, .rank = rank, .ranks = 3, .order = data::Order::sequential});
    std::cout << "rank " << rank << " of 3 reads";
    for (const std::int64_t index : second) std::cout << " " << index;
    std::cout << "\n";
  }
  return myth::refuted_if(second == std::vector<std::int64_t>{2, 5, 8, 11},
                          "Rank r reads every N-th sample, from the r-th on.");
}
