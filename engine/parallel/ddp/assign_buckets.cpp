#include "engine/parallel/ddp/assign_buckets.hpp"

#include <algorithm>
#include <vector>

#include "engine/base/error.hpp"

namespace lockstep::ddp {
namespace {

// The bucket that a kind of parameters fills now.
struct Filling {
  DType dtype;
  int device;
  std::int64_t limit_bytes;
  std::int64_t bytes = 0;
  std::vector<std::size_t> members{};
};

}  // namespace

collectives::BucketPlan assign_buckets(std::span<const ParamInfo> in_ready_order,
                                       const BucketLimits& limits) {
  LOCKSTEP_CHECK(limits.first_bytes >= 0 && limits.cap_bytes >= 0, "assign_buckets: limits of ",
                 limits.first_bytes, " and ", limits.cap_bytes, " bytes; none can be negative");
  collectives::BucketPlan plan;
  std::vector<Filling> kinds;
  for (std::size_t i = 0; i < in_ready_order.size(); ++i) {
    const ParamInfo& info = in_ready_order[i];
    LOCKSTEP_CHECK(info.count >= 0, "assign_buckets: parameter ", i, " has ", info.count,
                   " elements");
    auto kind = std::ranges::find_if(kinds, [&](const Filling& filling) {
      return filling.dtype == info.dtype && filling.device == info.device;
    });
    if (kind == kinds.end()) {
      kinds.push_back({info.dtype, info.device, limits.first_bytes});
      kind = kinds.end() - 1;
    }
    kind->members.push_back(i);
    kind->bytes += info.count * static_cast<std::int64_t>(bytes_of(info.dtype));
    if (kind->bytes < kind->limit_bytes) continue;
    plan.buckets.push_back(std::move(kind->members));
    *kind = {info.dtype, info.device, limits.cap_bytes};
  }
  std::erase_if(kinds, [](const Filling& filling) { return filling.members.empty(); });
  std::ranges::sort(kinds, {}, [](const Filling& filling) { return filling.members.front(); });
  for (Filling& filling : kinds) plan.buckets.push_back(std::move(filling.members));
  return plan;
}

}  // namespace lockstep::ddp
