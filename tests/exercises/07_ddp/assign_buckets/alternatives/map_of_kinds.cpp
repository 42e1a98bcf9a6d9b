// A map of open buckets, and a limit that is looked up instead of kept.
#include <map>
#include <set>

#include "engine/base/error.hpp"
#include "engine/parallel/ddp/assign_buckets.hpp"

namespace lockstep::ddp {

collectives::BucketPlan assign_buckets(std::span<const ParamInfo> in_ready_order,
                                       const BucketLimits& limits) {
  using Kind = std::pair<DType, int>;
  struct Open {
    std::int64_t bytes = 0;
    std::vector<std::size_t> members{};
  };
  std::map<Kind, Open> open;
  std::set<Kind> closed_one;
  collectives::BucketPlan plan;
  for (std::size_t i = 0; i < in_ready_order.size(); ++i) {
    const ParamInfo& info = in_ready_order[i];
    const Kind kind{info.dtype, info.device};
    Open& mine = open[kind];
    mine.members.push_back(i);
    mine.bytes += info.count * static_cast<std::int64_t>(bytes_of(info.dtype));
    if (mine.bytes < (closed_one.contains(kind) ? limits.cap_bytes : limits.first_bytes)) continue;
    plan.buckets.push_back(mine.members);
    closed_one.insert(kind);
    open.erase(kind);
  }
  std::map<std::size_t, std::vector<std::size_t>> rest;  // by first member
  for (const auto& [kind, left] : open) rest[left.members.front()] = left.members;
  for (const auto& [first, members] : rest) plan.buckets.push_back(members);
  return plan;
}

}  // namespace lockstep::ddp
