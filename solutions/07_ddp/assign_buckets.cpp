// Task: decide which gradients travel together. Walk through the parameters in the order in which
// their gradients are expected, and put each one into the open bucket of its kind: its dtype on its
// device. A bucket is closed as soon as its bytes reach its limit, and the next parameter of that
// kind opens a new one. The plan lists the buckets in the order in which they closed; buckets that
// are still open at the end follow. The contract is in engine/parallel/ddp/assign_buckets.hpp.
#include "engine/parallel/ddp/assign_buckets.hpp"

#include <algorithm>
#include <vector>

#include "engine/base/error.hpp"

namespace lockstep::ddp {

collectives::BucketPlan assign_buckets(std::span<const ParamInfo> in_ready_order,
                                       const BucketLimits& limits) {
  LOCKSTEP_CHECK(limits.first_bytes >= 0 && limits.cap_bytes >= 0, "assign_buckets: limits of ",
                 limits.first_bytes, " and ", limits.cap_bytes, " bytes; none can be negative");
  for (std::size_t i = 0; i < in_ready_order.size(); ++i) {
    LOCKSTEP_CHECK(in_ready_order[i].count >= 0, "assign_buckets: parameter ", i, " has ",
                   in_ready_order[i].count, " elements; a count cannot be negative");
  }
  // >>> your code
  struct Open {  // the bucket that a kind of parameters fills now
    DType dtype;
    int device;
    std::int64_t limit_bytes;
    std::int64_t bytes = 0;
    std::vector<std::size_t> members{};
  };
  collectives::BucketPlan plan;
  std::vector<Open> kinds;
  for (std::size_t i = 0; i < in_ready_order.size(); ++i) {
    const ParamInfo& info = in_ready_order[i];
    auto kind = std::ranges::find_if(kinds, [&](const Open& open) {
      return open.dtype == info.dtype && open.device == info.device;
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
  std::erase_if(kinds, [](const Open& open) { return open.members.empty(); });
  std::ranges::sort(kinds, {}, [](const Open& open) { return open.members.front(); });
  for (Open& open : kinds) plan.buckets.push_back(std::move(open.members));
  return plan;
  // <<< your code
}

}  // namespace lockstep::ddp
