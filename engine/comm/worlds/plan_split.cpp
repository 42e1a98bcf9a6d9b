#include "engine/comm/worlds/plan_split.hpp"

namespace lockstep::comm {

std::optional<GroupPlan> plan_split(ProcessGroup& group, ColorKey mine, const Where& where) {
  CpuDevice host;
  const Tensor one = empty({2}, DType::int64, host);
  const Tensor all = empty({2 * group.size()}, DType::int64, host);
  one.data<std::int64_t>()[0] = mine.color;
  one.data<std::int64_t>()[1] = mine.key;
  group.all_gather(one, all, where);
  std::vector<ColorKey> of_all_ranks;
  const auto numbers = all.data<std::int64_t>();
  for (std::size_t at = 0; at < numbers.size(); at += 2) {
    of_all_ranks.push_back({static_cast<int>(numbers[at]), static_cast<int>(numbers[at + 1])});
  }
  return split_groups(of_all_ranks, group.rank());
}

}  // namespace lockstep::comm
