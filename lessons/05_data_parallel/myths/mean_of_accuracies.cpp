// Ranks with few samples weigh as much as those with many in a mean of accuracies.
#include <algorithm>
#include <vector>

#include "engine/data/dataset.hpp"
#include "lessons/myth.hpp"

using namespace lockstep;

int main() {
  myth::claim("Average the accuracies of the ranks.");
  const int samples = 200, ranks = 4, share = 64;  // the last rank gets what is left: 8
  const auto test_set = data::make_synthetic(samples, 4, 3, 7);
  double mean = 0, all_hits = 0;
  myth::on_ranks(ranks, [&](comm::ProcessGroup& group, Device& device) {
    std::vector<std::int64_t> mine;
    const int first = group.rank() * share;
    for (int i = first; i < std::min(first + share, samples); ++i) mine.push_back(i);
    const auto labels = test_set->batch(mine, DType::float32, device).labels.data<std::int64_t>();
    const auto hits = static_cast<double>(std::ranges::count(labels, 0));  // a model that says 0
    const double accuracy = hits / static_cast<double>(mine.size());
    std::cout << "rank " << group.rank() << ": " << hits << " of " << mine.size() << " right, "
              << 100 * accuracy << " %\n";
    const std::vector<double> both{accuracy / ranks, hits};
    const Tensor sums = from_values(both, {2}, DType::float64, device);
    group.all_reduce(sums, ReduceOp::sum);
    mean = sums.item(0), all_hits = sums.item(1);
  });
  std::cout << "the mean of the accuracies is " << 100 * mean << " %, hits over samples are "
            << 100 * all_hits / samples << " %\n";
  return myth::refuted_if(std::abs(mean - all_hits / samples) > 0.005,
                          "Shares of different sizes weigh differently: add the hits and the "
                          "samples, and divide once.");
}
