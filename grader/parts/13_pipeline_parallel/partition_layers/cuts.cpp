#include "grader/parts/13_pipeline_parallel/partition_layers/cuts.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/base/text.hpp"
#include "grader/judge/compare.hpp"

namespace lockstep::grader::partition_layers {
namespace {

// The cut that fills each stage up to `limit`, and leaves a layer for each stage behind it. The
// last stage takes the rest.
Boundaries filled(const Question& q, double limit) {
  const int layers = static_cast<int>(q.cost.size());
  Boundaries cut{0};
  for (int stage = 0; stage + 1 < q.stages; ++stage) {
    int end = cut.back() + 1;
    double sum = q.cost[static_cast<std::size_t>(cut.back())];
    while (end < layers - (q.stages - stage - 1) &&
           sum + q.cost[static_cast<std::size_t>(end)] <= limit) {
      sum += q.cost[static_cast<std::size_t>(end++)];
    }
    cut.push_back(end);
  }
  cut.push_back(layers);
  return cut;
}

// "moving boundary 2 from 5 to 6 alone makes it faster", or where a best cut has its boundaries.
std::string better(const Question& q, const Boundaries& seen) {
  for (std::size_t b = 1; b + 1 < seen.size(); ++b) {
    for (const int step : {-1, 1}) {
      Boundaries moved = seen;
      moved[b] += step;
      if (moved[b - 1] >= moved[b] || moved[b] >= moved[b + 1]) continue;
      if (maximum_of(q, moved) >= maximum_of(q, seen)) continue;
      return text("moving boundary ", b, " from ", seen[b], " to ", moved[b],
                  " alone makes the slowest stage faster");
    }
  }
  return text("no boundary can be moved alone; a best cut is ", listed(best_cut(q)));
}

}  // namespace

double cost_of_stage(const Question& q, const Boundaries& cut, std::size_t stage) {
  return std::accumulate(q.cost.begin() + cut[stage], q.cost.begin() + cut[stage + 1], 0.0);
}

std::size_t slowest(const Question& q, const Boundaries& cut) {
  std::size_t slow = 0;
  for (std::size_t stage = 1; stage + 1 < cut.size(); ++stage) {
    if (cost_of_stage(q, cut, stage) > cost_of_stage(q, cut, slow)) slow = stage;
  }
  return slow;
}

double maximum_of(const Question& q, const Boundaries& cut) {
  return cost_of_stage(q, cut, slowest(q, cut));
}

Boundaries best_cut(const Question& q) {
  double low = 0, high = std::accumulate(q.cost.begin(), q.cost.end(), 0.0);
  for (int step = 0; step < 200 && high > low; ++step) {
    const double limit = low + (high - low) / 2;
    const Boundaries cut = filled(q, limit);
    if (maximum_of(q, cut) <= limit) {
      high = std::min(limit, maximum_of(q, cut));
    } else {
      low = limit;
    }
  }
  return filled(q, high);
}

Cause likely_cause(const Question& q, const Boundaries& seen) {
  const double least = maximum_of(q, best_cut(q));
  const double off = (maximum_of(q, seen) - least) / least;
  if (!(off < 1e-5)) return {"other_cut", better(q, seen)};
  const int digit = 1 + static_cast<int>(std::floor(-std::log10(off)));
  return {"rounded",
          text("only digit ", digit,
               " tells this cut from a best one: compare the largest costs themselves, in double, "
               "with no tolerance, no sum of squares, and no search that ends early")};
}

}  // namespace lockstep::grader::partition_layers
