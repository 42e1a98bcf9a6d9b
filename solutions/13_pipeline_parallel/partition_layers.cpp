// Task: cut a list of layers into contiguous stages. The slowest stage sets the pace of a pipeline,
// so the largest cost of a stage must be as small as possible. Every stage gets at least one layer.
// The contract is in engine/parallel/pipeline/partition_layers.hpp.
#include "engine/parallel/pipeline/partition_layers.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/base/error.hpp"

namespace lockstep::pipeline {

std::vector<int> partition(std::span<const double> cost, int stages) {
  const int layers = static_cast<int>(cost.size());
  LOCKSTEP_CHECK(stages >= 1, "partition: ", stages, " stages; a pipeline has at least one");
  LOCKSTEP_CHECK(layers >= stages, "partition: ", layers, " layers for ", stages,
                 " stages; every stage needs a layer");
  for (int i = 0; i < layers; ++i) {
    const double one = cost[static_cast<std::size_t>(i)];
    LOCKSTEP_CHECK(std::isfinite(one) && one >= 0, "partition: layer ", i, " costs ", one,
                   "; a cost is finite and not negative");
  }
  // >>> your code
  // smallest[k][n]: the smallest possible maximum of the first n layers in k+1 stages, the last of
  // which begins at layer begins[k][n].
  const auto places = static_cast<std::size_t>(layers) + 1;
  const auto infinity = std::numeric_limits<double>::infinity();
  std::vector<std::vector<double>> smallest(static_cast<std::size_t>(stages),
                                            std::vector<double>(places, infinity));
  std::vector<std::vector<std::size_t>> begins(static_cast<std::size_t>(stages),
                                               std::vector<std::size_t>(places, 0));
  double sum = 0;
  for (std::size_t n = 1; n < places; ++n) smallest[0][n] = sum += cost[n - 1];
  for (std::size_t k = 1; k < smallest.size(); ++k) {
    for (std::size_t n = k + 1; n < places; ++n) {
      double last = 0;  // the cost of layers begin .. n−1
      for (std::size_t begin = n - 1; begin >= k; --begin) {
        last += cost[begin];
        const double most = std::max(smallest[k - 1][begin], last);
        if (most < smallest[k][n]) smallest[k][n] = most, begins[k][n] = begin;
      }
    }
  }
  std::vector<int> boundaries(static_cast<std::size_t>(stages) + 1, layers);
  for (std::size_t k = smallest.size(); k-- > 0;) {
    boundaries[k] = static_cast<int>(begins[k][static_cast<std::size_t>(boundaries[k + 1])]);
  }
  return boundaries;
  // <<< your code
}

}  // namespace lockstep::pipeline
