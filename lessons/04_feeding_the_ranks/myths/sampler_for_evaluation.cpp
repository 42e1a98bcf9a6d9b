// The sampler pads, so that all ranks get equally many; padded samples count twice.
#include "engine/data/distributed_sampler.hpp"
#include "lessons/myth.hpp"

using namespace lockstep;

int main() {
  myth::claim("Use the same sampler for the test set.");
  const int samples = 10, ranks = 4;  // of a model that is wrong on sample 0, and right elsewhere
  int counted = 0, hits = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    for (const std::int64_t index : data::distributed_indices(
             {.length = samples, .rank = rank, .ranks = ranks, .order = data::Order::sequential})) {
      ++counted;
      hits += index != 0;
    }
  }
  std::cout << samples << " samples, of which the model has 9 right: accuracy 90 %\n"
            << ranks << " ranks count " << counted << " samples and " << hits << " hits: accuracy "
            << 100.0 * hits / counted << " %\n";
  return myth::refuted_if(counted == 12 && hits * samples != 9 * counted,
                          "The sampler pads the order until all shares are equal, so some "
                          "samples count twice, and the accuracy is another one.");
}
