#include "grader/parts/13_pipeline_parallel/partition_layers/cuts.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

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

// True if `seen` is the best cut of these costs, which are not the right ones. Another cut that is
// as good for them may have come about in another way.
bool is_best_for(const Question& other, const Boundaries& seen) { return best_cut(other) == seen; }

// The same layers, each with another cost.
template <typename Cost>
Question with_costs(Question q, Cost cost) {
  std::ranges::transform(q.cost, q.cost.begin(), cost);
  return q;
}
Question with_free_layer(Question q, std::size_t layer) {
  q.cost[layer] = 0;
  return q;
}

// After how many halvings a search between the largest layer and the sum of all has another cut
// than this one; nothing where it soon has another.
std::optional<int> halvings_past(const Question& q, const Boundaries& seen) {
  double low = *std::ranges::max_element(q.cost);
  double high = std::accumulate(q.cost.begin(), q.cost.end(), 0.0);
  int past = 0;
  for (int halving = 1; halving <= 100; ++halving) {
    const double limit = low + (high - low) / 2;
    (maximum_of(q, filled(q, limit)) <= limit ? high : low) = limit;
    if (filled(q, high) == seen) past = halving + 1;
  }
  return past > 20 ? std::optional(past) : std::nullopt;
}

// A cut that is the best one in its first digits.
std::optional<Cause> cause_by_digits(const Question& q, const Boundaries& seen) {
  const double least = maximum_of(q, best_cut(q));
  const double off = (maximum_of(q, seen) - least) / least;
  if (!(off < 1e-5)) return std::nullopt;
  const Question floats = with_costs(q, [](double one) { return static_cast<float>(one); });
  const auto past = halvings_past(q, seen);
  const int digit = 1 + static_cast<int>(std::floor(-std::log10(off)));
  return Cause{
      "rounded",
      text("only digit ", digit, " tells this cut from a best one. ",
           past ? text("A search by halving that begins at the largest layer and the sum needs ",
                       *past, " halvings to find a better one: did yours end earlier? Or costs")
                : std::string("Costs"),
           " were compared with a tolerance",
           is_best_for(floats, seen) ? ", or went through a float" : "")};
}

// Each boundary where the sum of the layers before it is nearest to its share of all.
Boundaries nearest_to_shares(const Question& q) {
  const double all = std::accumulate(q.cost.begin(), q.cost.end(), 0.0);
  Boundaries cut{0};
  double sum = 0;
  std::size_t layer = 0;
  for (int stage = 1; stage < q.stages; ++stage) {
    const double share = all * stage / q.stages;
    while (layer < q.cost.size() &&
           std::fabs(sum + q.cost[layer] - share) < std::fabs(sum - share)) {
      sum += q.cost[layer++];
    }
    cut.push_back(static_cast<int>(layer));
  }
  cut.push_back(static_cast<int>(q.cost.size()));
  return cut;
}

Boundaries filled_from_the_end(const Question& q, double limit) {
  Question turned = q;
  std::ranges::reverse(turned.cost);
  Boundaries cut = filled(turned, limit);
  std::ranges::reverse(cut);
  for (int& boundary : cut) boundary = static_cast<int>(q.cost.size()) - boundary;
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
  const double mean = std::accumulate(q.cost.begin(), q.cost.end(), 0.0) / q.stages;
  const auto counts_differ_by_one = [&] {
    int least = seen[1], most = seen[1];
    for (std::size_t s = 0; s + 1 < seen.size(); ++s) {
      least = std::min(least, seen[s + 1] - seen[s]);
      most = std::max(most, seen[s + 1] - seen[s]);
    }
    return most - least <= 1;
  };
  if (seen == filled(q, mean) || seen == filled_from_the_end(q, mean)) {
    return {"filled_to_the_mean",
            "each stage was filled up to the mean, and the last one has the rest; the smallest "
            "maximum can be larger than the mean"};
  }
  if (counts_differ_by_one()) {
    return {"equal_counts", "all stages have the same number of layers, but layers differ in cost"};
  }
  if (seen == nearest_to_shares(q)) {
    return {"nearest_to_the_mean",
            "each boundary is where the layers before it cost nearest to their share; the largest "
            "stage of that cut need not be as small as possible"};
  }
  if (is_best_for(with_costs(q, [](double one) { return std::floor(one); }), seen)) {
    return {"whole_costs", "the costs were cut to whole numbers; keep them in double"};
  }
  if (const auto rounded = cause_by_digits(q, seen)) return *rounded;
  for (const auto& [layer, name] :
       {std::pair{q.cost.size() - 1, "last"}, {std::size_t{0}, "first"}}) {
    if (!is_best_for(with_free_layer(q, layer), seen)) continue;
    return {"one_left_out", text("this is the best cut if the ", name, " layer cost nothing")};
  }
  return {"other_cut", better(q, seen)};
}

}  // namespace lockstep::grader::partition_layers
