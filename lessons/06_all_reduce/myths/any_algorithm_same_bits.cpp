// Each algorithm adds in an order of its own; the ranks of one run all get the same bits.
#include <vector>

#include "engine/base/random.hpp"
#include "engine/collectives/naive_all_reduce.hpp"
#include "engine/collectives/ring_all_reduce.hpp"
#include "engine/collectives/tree_all_reduce.hpp"
#include "lessons/myth.hpp"

using namespace lockstep;

int main() {
  myth::claim("An all-reduce gives the same bits whichever algorithm runs.");
  using Results = std::vector<std::vector<float>>;  // by rank
  const auto summed = [](auto all_reduce) {
    Results results(8);
    myth::on_ranks(8, [&](comm::ProcessGroup& group, Device& device) {
      const auto rank = static_cast<std::size_t>(group.rank());
      std::vector<double> values(1000);
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = random_uniform(rank, i);
      const Tensor data = from_values(values, {1000}, DType::float32, device);
      all_reduce(group, data, ReduceOp::sum);
      results[rank].assign(data.data<float>().begin(), data.data<float>().end());
    });
    return results;
  };
  const auto differing = [](const std::vector<float>& a, const std::vector<float>& b) {
    int count = 0;
    for (std::size_t i = 0; i < a.size(); ++i) count += a[i] != b[i];
    return count;
  };
  const Results ring = summed(collectives::ring_all_reduce);
  const int tree = differing(ring[0], summed(collectives::tree_all_reduce)[0]);
  const int naive = differing(ring[0], summed(collectives::naive_all_reduce)[0]);
  std::cout << "of 1000 sums over 8 ranks, from the ring's differ\n"
            << "  " << tree << " of the tree's\n  " << naive << " of the naive one's\n  "
            << differing(ring[0], ring[7]) << " of the ring's own on the last rank\n";
  return myth::refuted_if(tree > 0 && naive > 0 && ring[0] == ring[7],
                          "Each algorithm adds in an order of its own, so the bits differ "
                          "between algorithms, and are equal on all ranks of one.");
}
