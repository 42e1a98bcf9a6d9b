// A table of (steps, latencies, bytes, link) and one formula.
#include <cmath>
#include <limits>
#include <vector>

#include "engine/collectives/choose_all_reduce.hpp"

namespace lockstep::collectives {
namespace {

struct Line {
  double steps, latencies, bytes;
  const sim::Link* link;
};

double total(const std::vector<Line>& lines) {
  double seconds = 0;
  for (const Line& line : lines) {
    seconds += line.latencies * line.link->latency_s + line.steps * line.link->gap_s;
    seconds += line.steps * line.bytes / line.link->bandwidth_bytes_s;
  }
  return seconds;
}

}  // namespace

Choice choose_all_reduce(const LinkCosts& links, int ranks, int ranks_per_node,
                         std::int64_t bytes) {
  const double n = ranks, g = ranks_per_node, k = n / g, d = static_cast<double>(bytes);
  const bool one_node = ranks == ranks_per_node;
  const sim::Link* slow = one_node ? &links.within : &links.between;
  const auto link_of = [&](int reach) {
    return one_node || ranks_per_node % reach == 0 ? &links.within : &links.between;
  };
  const int up = static_cast<int>(std::ceil(std::log2(n) - 1e-9));
  const int down = static_cast<int>(std::floor(std::log2(n) + 1e-9));
  std::vector<Line> tree, halves;
  for (int level = 0; level < up; ++level) {
    tree.push_back({2, level < down ? 2.0 : 1.0, d, link_of(2 << level)});
  }
  for (int level = 0; level < down; ++level) {
    halves.push_back({2, 2, d * std::ldexp(1.0, level - down), link_of(2 << level)});
  }
  if (up > down) halves.push_back({2, 2, d, slow});
  Choice choice;
  choice.seconds = {total({{n - 1, n - 1, d, slow}}),
                    total({{2 * (n - 1), 2 * (n - 1), d / n, slow}}), total(tree), total(halves),
                    total({{2 * (g - 1), 2 * (g - 1), d / g, &links.within},
                           {2 * (k - 1), 2 * (k - 1), d / n, &links.between}})};
  if (one_node) choice.seconds[4] = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < choice.seconds.size(); ++i) {
    const auto best = static_cast<std::size_t>(choice.algorithm) - 1;
    if (choice.seconds[i] < choice.seconds[best]) choice.algorithm = static_cast<AllReduce>(i + 1);
  }
  return choice;
}

}  // namespace lockstep::collectives
