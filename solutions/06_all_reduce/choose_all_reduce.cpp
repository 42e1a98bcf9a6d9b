// Task: predict how long each of the five all-reduces takes, and pick the fastest. A step of x
// bytes costs latency + gap + x / bandwidth of its link, and each algorithm is a number of such
// steps. The table of steps, bytes and links is in engine/collectives/choose_all_reduce.hpp; you
// need nothing else.
#include "engine/collectives/choose_all_reduce.hpp"

#include <algorithm>
#include <limits>

#include "engine/base/error.hpp"

namespace lockstep::collectives {

Choice choose_all_reduce(const LinkCosts& links, int ranks, int ranks_per_node,
                         std::int64_t bytes) {
  LOCKSTEP_CHECK(ranks >= 1 && ranks_per_node >= 1 && ranks % ranks_per_node == 0 && bytes > 0,
                 "choose_all_reduce: ", bytes, " bytes on ", ranks, " ranks, ", ranks_per_node,
                 " on each node; there must be bytes, and nodes of equally many ranks");
  // >>> your code
  const int nodes = ranks / ranks_per_node;
  const auto d = static_cast<double>(bytes);
  const auto step = [](const sim::Link& link, double size) {
    return link.latency_s + link.gap_s + size / link.bandwidth_bytes_s;
  };
  const sim::Link& slow = nodes > 1 ? links.between : links.within;
  const auto level = [&](int apart) -> const sim::Link& {
    return nodes == 1 || ranks_per_node % (2 * apart) == 0 ? links.within : links.between;
  };

  const double naive = (ranks - 1) * step(slow, d);
  const double ring = 2 * (ranks - 1) * step(slow, d / ranks);

  double tree = 0;
  for (int apart = 1; apart < ranks; apart *= 2) {
    tree += 2 * step(level(apart), d);
    if (2 * apart > ranks) tree -= level(apart).latency_s;
  }

  int inner = 1;
  while (2 * inner <= ranks) inner *= 2;
  double halving_doubling = inner < ranks ? 2 * step(slow, d) : 0;
  for (int apart = inner / 2; apart > 0; apart /= 2) {
    halving_doubling += 2 * step(level(apart), d * apart / inner);
  }

  double hierarchical = std::numeric_limits<double>::infinity();
  if (nodes > 1) {
    hierarchical = 2 * (ranks_per_node - 1) * step(links.within, d / ranks_per_node) +
                   2 * (nodes - 1) * step(links.between, d / ranks);
  }

  constexpr AllReduce order[] = {AllReduce::naive, AllReduce::ring, AllReduce::tree,
                                 AllReduce::halving_doubling, AllReduce::hierarchical};
  Choice choice;
  choice.seconds = {naive, ring, tree, halving_doubling, hierarchical};
  const auto best = std::min_element(choice.seconds.begin(), choice.seconds.end());
  choice.algorithm = order[best - choice.seconds.begin()];
  return choice;
  // <<< your code
}

}  // namespace lockstep::collectives
