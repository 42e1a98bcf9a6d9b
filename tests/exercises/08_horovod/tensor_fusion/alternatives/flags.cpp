// A flag for each gradient that has a group, instead of a queue of those that wait.
#include "engine/base/error.hpp"
#include "engine/parallel/horovod/tensor_fusion.hpp"

namespace lockstep::horovod {

FusionPlan fuse(std::span<const Ready> in_order, std::int64_t threshold_bytes) {
  FusionPlan plan;
  std::vector<char> has_group(in_order.size(), 0);
  const auto bytes_at = [&](std::size_t i) {
    return in_order[i].count * static_cast<std::int64_t>(bytes_of(in_order[i].dtype));
  };
  for (std::size_t i = 0; i < in_order.size(); ++i) {
    if (has_group[i]) continue;
    plan.groups.push_back({i});
    std::int64_t bytes = bytes_at(i), passed = 0;
    for (std::size_t k = i + 1; threshold_bytes > 0 && k < in_order.size(); ++k) {
      if (has_group[k]) continue;
      if (in_order[k].dtype == in_order[i].dtype && bytes + bytes_at(k) <= threshold_bytes) {
        plan.groups.back().push_back(k);
        has_group[k] = 1;
        bytes += bytes_at(k);
      } else if (passed += bytes_at(k); bytes + passed > threshold_bytes) {
        break;
      }
    }
  }
  return plan;
}

}  // namespace lockstep::horovod
