// Dynamic programming over what is left, with sums of all beginnings; ties go to the shortest
// stage.
#include <cmath>
#include <limits>

#include "engine/base/error.hpp"
#include "engine/parallel/pipeline/partition_layers.hpp"

namespace lockstep::pipeline {

std::vector<int> partition(std::span<const double> cost, int stages) {
  const int layers = static_cast<int>(cost.size());
  if (stages < 1 || layers < stages) throw ContractError("a stage without layers");
  std::vector<double> before{0};
  for (const double one : cost) {
    if (!(one >= 0) || std::isinf(one)) throw ContractError("no cost");
    before.push_back(before.back() + one);
  }
  const auto at = [](int i) { return static_cast<std::size_t>(i); };
  // best[s][i]: the smallest maximum of the layers from i on, in s stages.
  std::vector<std::vector<double>> best(
      at(stages) + 1, std::vector<double>(before.size(), std::numeric_limits<double>::infinity()));
  auto first_end = std::vector<std::vector<int>>(at(stages) + 1, std::vector<int>(before.size()));
  best[0].back() = 0;
  for (int s = 1; s <= stages; ++s) {
    for (int i = 0; i < layers; ++i) {
      for (int end = i + 1; end <= layers; ++end) {
        const double most = std::max(before[at(end)] - before[at(i)], best[at(s - 1)][at(end)]);
        if (most < best[at(s)][at(i)]) best[at(s)][at(i)] = most, first_end[at(s)][at(i)] = end;
      }
    }
  }
  std::vector<int> boundaries{0};
  for (int s = stages; s > 0; --s) boundaries.push_back(first_end[at(s)][at(boundaries.back())]);
  return boundaries;
}

}  // namespace lockstep::pipeline
