// Halves the range of the largest cost, and fills stages from the front under each limit.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/base/error.hpp"
#include "engine/parallel/pipeline/partition_layers.hpp"

namespace lockstep::pipeline {

namespace {

// As few stages as this limit allows, as boundaries.
std::vector<int> filled(std::span<const double> cost, double limit) {
  std::vector<int> boundaries{0};
  double sum = 0;
  for (std::size_t i = 0; i < cost.size(); ++i) {
    if (sum + cost[i] > limit && static_cast<int>(i) > boundaries.back()) {
      boundaries.push_back(static_cast<int>(i));
      sum = 0;
    }
    sum += cost[i];
  }
  boundaries.push_back(static_cast<int>(cost.size()));
  return boundaries;
}

}  // namespace

std::vector<int> partition(std::span<const double> cost, int stages) {
  const bool costs =
      std::ranges::all_of(cost, [](double one) { return one >= 0 && one < HUGE_VAL; });
  LOCKSTEP_CHECK(costs && stages >= 1 && std::ssize(cost) >= stages, "no cut");
  double low = *std::ranges::max_element(cost),
         high = std::accumulate(cost.begin(), cost.end(), 0.0);
  for (int step = 0; step < 100; ++step) {
    const double limit = (low + high) / 2;
    (std::ssize(filled(cost, limit)) - 1 <= stages ? high : low) = limit;
  }
  auto boundaries = filled(cost, high);
  // Fewer stages than there are: cut layers off the long ones.
  for (std::size_t s = 0; std::ssize(boundaries) - 1 < stages;) {
    if (boundaries[s + 1] - boundaries[s] > 1) {
      boundaries.insert(boundaries.begin() + static_cast<std::ptrdiff_t>(s) + 1, boundaries[s] + 1);
    } else {
      ++s;
    }
  }
  return boundaries;
}

}  // namespace lockstep::pipeline
