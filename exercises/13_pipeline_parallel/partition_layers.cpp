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
  // Avoids warnings about parameters that are not used yet.
  (void)cost, (void)stages;
  throw NotImplemented("partition_layers");
  // <<< your code
}

}  // namespace lockstep::pipeline
