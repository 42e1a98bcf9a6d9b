#include "engine/base/nearest.hpp"

#include <algorithm>
#include <vector>

namespace lockstep {

std::size_t edit_distance(const std::string& a, const std::string& b) {
  // distance[i][j] is between the first i letters of a and the first j of b.
  std::vector<std::vector<std::size_t>> distance(a.size() + 1,
                                                 std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        distance[i][j] = i + j;
        continue;
      }
      const std::size_t replaced = a[i - 1] == b[j - 1] ? 0 : 1;
      distance[i][j] = std::min(
          {distance[i - 1][j] + 1, distance[i][j - 1] + 1, distance[i - 1][j - 1] + replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        distance[i][j] = std::min(distance[i][j], distance[i - 2][j - 2] + 1);
      }
    }
  }
  return distance[a.size()][b.size()];
}

std::optional<std::string> nearest(const std::string& word,
                                   std::span<const std::string> candidates) {
  const auto closest = std::min_element(candidates.begin(), candidates.end(),
                                        [&](const std::string& a, const std::string& b) {
                                          return edit_distance(word, a) < edit_distance(word, b);
                                        });
  if (closest == candidates.end()) return std::nullopt;
  const std::size_t letters = std::max(word.size(), closest->size());
  if (2 * edit_distance(word, *closest) <= letters) return *closest;
  const auto begun = std::ranges::find_if(
      candidates, [&](const std::string& each) { return each.starts_with(word); });
  if (word.size() < 3 || begun == candidates.end()) return std::nullopt;
  return *begun;
}

std::string did_you_mean(const std::string& word, std::span<const std::string> candidates,
                         const std::string& prefix) {
  const auto meant = nearest(word, candidates);
  return meant ? "; did you mean " + prefix + *meant + "?" : "";
}

}  // namespace lockstep
