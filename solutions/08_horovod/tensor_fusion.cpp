// Task: decide which of the gradients that are ready travel together. Begin a group with the first
// gradient that is in none yet, and add each next one of its dtype as long as the group fits into a
// buffer of threshold_bytes. Gradients of other dtypes may be passed over on the way, as far as the
// contract allows; they are grouped next. The contract is in
// engine/parallel/horovod/tensor_fusion.hpp.
#include "engine/parallel/horovod/tensor_fusion.hpp"

#include <deque>
#include <numeric>

#include "engine/base/error.hpp"

namespace lockstep::horovod {

FusionPlan fuse(std::span<const Ready> in_order, std::int64_t threshold_bytes) {
  LOCKSTEP_CHECK(threshold_bytes >= 0, "fuse: a threshold of ", threshold_bytes,
                 " bytes; it cannot be negative, and 0 disables fusion");
  for (std::size_t i = 0; i < in_order.size(); ++i) {
    LOCKSTEP_CHECK(in_order[i].count >= 0, "fuse: gradient ", i, " has ", in_order[i].count,
                   " elements");
  }
  // >>> your code
  const auto bytes_at = [&](std::size_t i) {
    return in_order[i].count * static_cast<std::int64_t>(bytes_of(in_order[i].dtype));
  };
  FusionPlan plan;
  std::deque<std::size_t> waiting(in_order.size());
  std::iota(waiting.begin(), waiting.end(), std::size_t{0});
  while (!waiting.empty()) {
    std::vector<std::size_t> group{waiting.front()};
    waiting.pop_front();
    std::int64_t bytes = bytes_at(group[0]), passed_bytes = 0;
    std::deque<std::size_t> passed;
    while (!waiting.empty() && threshold_bytes > 0) {
      const std::size_t next = waiting.front();
      const bool fits = in_order[next].dtype == in_order[group[0]].dtype &&
                        bytes + bytes_at(next) <= threshold_bytes;
      if (fits) {
        group.push_back(next);
        bytes += bytes_at(next);
      } else {
        passed_bytes += bytes_at(next);
        if (bytes + passed_bytes > threshold_bytes) break;
        passed.push_back(next);
      }
      waiting.pop_front();
    }
    waiting.insert(waiting.begin(), passed.begin(), passed.end());
    plan.groups.push_back(std::move(group));
  }
  return plan;
  // <<< your code
}

}  // namespace lockstep::horovod
