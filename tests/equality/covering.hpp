// A choice among very many settings: one in which every two values of two properties meet at least
// once. A fault that takes two properties to show is then seen, by a few dozen runs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <set>
#include <tuple>
#include <vector>

namespace lockstep::test {

using ValuePair = std::tuple<std::size_t, int, std::size_t, int>;  // property, value; both twice

// Settings that together have every pair of values that any of `all` has: each time the one with
// the most pairs that were not there yet, so that the first few have most of them.
//   Setting  has values(), an array with a number for each property
template <typename Setting>
std::vector<Setting> covering(const std::vector<Setting>& all) {
  std::vector<std::vector<ValuePair>> pairs(all.size());
  std::set<ValuePair> open;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto values = all[i].values();
    for (std::size_t a = 0; a < values.size(); ++a) {
      for (std::size_t b = a + 1; b < values.size(); ++b) {
        pairs[i].push_back({a, values[a], b, values[b]});
      }
    }
    open.insert(pairs[i].begin(), pairs[i].end());
  }
  std::vector<Setting> chosen;
  while (!open.empty()) {
    const auto gain = [&](const std::vector<ValuePair>& of) {
      return std::ranges::count_if(of, [&](const ValuePair& pair) { return open.contains(pair); });
    };
    const auto best = std::ranges::max_element(pairs, {}, gain);
    chosen.push_back(all[static_cast<std::size_t>(best - pairs.begin())]);
    for (const ValuePair& pair : *best) open.erase(pair);
  }
  return chosen;
}

}  // namespace lockstep::test
