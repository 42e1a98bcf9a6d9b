// Without set_epoch a shuffling sampler repeats one permutation, that of epoch 0.
#include <vector>

#include "engine/data/distributed_sampler.hpp"
#include "lessons/myth.hpp"

using namespace lockstep;

namespace {

using Indices = std::vector<std::int64_t>;

Indices shown(const char* when, data::Order order, int epoch) {
  const Indices indices = data::distributed_indices(
      {.length = 8, .rank = 0, .ranks = 2, .epoch = epoch, .order = order});
  std::cout << "  " << when;
  for (const std::int64_t index : indices) std::cout << " " << index;
  std::cout << "\n";
  return indices;
}

}  // namespace

int main() {
  myth::claim("Without set_epoch, rank 0 always gets samples 0, 2, 4, …");
  std::cout << "rank 0 of 2 reads, of 8 samples\n";
  const Indices even = shown("not shuffled, any epoch         ", data::Order::sequential, 0);
  const Indices first = shown("shuffled, the first epoch       ", data::Order::shuffled, 0);
  // Without set_epoch(1) the sampler is asked for epoch 0 again.
  const Indices again = shown("the second, without set_epoch   ", data::Order::shuffled, 0);
  const Indices other = shown("the second, with set_epoch(1)   ", data::Order::shuffled, 1);
  return myth::refuted_if(
      even == Indices{0, 2, 4, 6} && first != even && again == first && other != first,
      "Rank 0 gets every other place of a shuffled order; without set_epoch, "
      "this order is the same in each epoch.");
}
