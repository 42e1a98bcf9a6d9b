// Sorts the parameters by kind first, cuts each kind by itself, and puts the buckets into the order
// in which they were closed at the end.
#include <algorithm>
#include <numeric>
#include <tuple>

#include "engine/base/error.hpp"
#include "engine/parallel/ddp/assign_buckets.hpp"

namespace lockstep::ddp {

collectives::BucketPlan assign_buckets(std::span<const ParamInfo> in_ready_order,
                                       const BucketLimits& limits) {
  const auto kind_of = [&](std::size_t i) {
    return std::pair(in_ready_order[i].dtype, in_ready_order[i].device);
  };
  std::vector<std::size_t> order(in_ready_order.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, kind_of);

  const std::size_t never = in_ready_order.size();
  std::vector<std::pair<std::size_t, std::vector<std::size_t>>> closed;  // by what closed it
  std::int64_t bytes = 0;
  for (std::size_t k = 0; k < order.size(); ++k) {
    const bool new_kind = k == 0 || kind_of(order[k]) != kind_of(order[k - 1]);
    const bool was_closed = k > 0 && closed.back().first != never;
    if (new_kind || was_closed) {
      closed.emplace_back(never, std::vector<std::size_t>{});
      bytes = 0;
    }
    const bool first =
        closed.size() == 1 || kind_of(closed[closed.size() - 2].second[0]) != kind_of(order[k]);
    const ParamInfo& info = in_ready_order[order[k]];
    closed.back().second.push_back(order[k]);
    bytes += info.count * static_cast<std::int64_t>(bytes_of(info.dtype));
    if (bytes >= (first ? limits.first_bytes : limits.cap_bytes)) closed.back().first = order[k];
  }
  std::ranges::sort(closed);
  collectives::BucketPlan plan;
  for (auto& bucket : closed) plan.buckets.push_back(std::move(bucket.second));
  return plan;
}

}  // namespace lockstep::ddp
