// Wrong on purpose: the largest entries travel, and the rest is lost. The residual stays zero.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "engine/parallel/compress/continuation.hpp"
#include "engine/parallel/compress/entries.hpp"
#include "engine/parallel/compress/top_k.hpp"

namespace lockstep::compress {

comm::Work top_k_reduce(comm::ProcessGroup& group, const Tensor& gradient, const Tensor& residual,
                        double fraction) {
  static_cast<void>(residual);  // neither added nor kept
  const std::int64_t count = gradient.numel(), k = entries_of(count, fraction);
  if (k == 0) return {};
  std::vector<std::int64_t> places(static_cast<std::size_t>(count));
  std::iota(places.begin(), places.end(), 0);
  std::nth_element(places.begin(), places.begin() + (k - 1), places.end(),
                   [&](std::int64_t a, std::int64_t b) {
                     return std::abs(gradient.item(a)) > std::abs(gradient.item(b));
                   });
  std::vector<double> entries;  // place, value, place, value …
  for (std::int64_t i = 0; i < k; ++i) {
    const std::int64_t place = places[static_cast<std::size_t>(i)];
    entries.push_back(static_cast<double>(place));
    entries.push_back(gradient.item(place) / group.size());
  }
  const Tensor mine = from_values(entries, {2 * k}, DType::float64, gradient.device());
  const Tensor all = mine.empty_like(2 * k * group.size());
  return then(group, group.all_gather_async(mine, all), [gradient, mine, all, count] {
    std::vector<double> mean(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < all.numel(); i += 2) {
      mean[static_cast<std::size_t>(all.item(i))] += all.item(i + 1);
    }
    gradient.copy_(from_values(mean, gradient.shape(), gradient.dtype(), gradient.device()));
  });
}

}  // namespace lockstep::compress
