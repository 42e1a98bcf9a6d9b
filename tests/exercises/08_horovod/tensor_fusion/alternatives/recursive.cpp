// Two lists instead of one: what a group passes over becomes the head of the next list.
#include <iterator>
#include <list>

#include "engine/base/error.hpp"
#include "engine/parallel/horovod/tensor_fusion.hpp"

namespace lockstep::horovod {
namespace {

struct Waiting {
  std::size_t place;
  DType dtype;
  std::int64_t bytes;
};

void group_the_rest(std::list<Waiting> waiting, std::int64_t threshold, FusionPlan& plan) {
  if (waiting.empty()) return;
  const Waiting first = waiting.front();
  std::vector<std::size_t> group{first.place};
  std::list<Waiting> passed;
  std::int64_t room = threshold - first.bytes;  // in the buffer
  std::int64_t reach = room;                    // until the search ends
  auto at = std::next(waiting.begin());
  for (; threshold != 0 && at != waiting.end(); ++at) {
    if (at->dtype == first.dtype && at->bytes <= room) {
      group.push_back(at->place);
      room -= at->bytes;
      reach -= at->bytes;
      continue;
    }
    reach -= at->bytes;
    if (reach < 0) break;
    passed.push_back(*at);
  }
  plan.groups.push_back(group);
  passed.splice(passed.end(), waiting, at, waiting.end());
  group_the_rest(std::move(passed), threshold, plan);
}

}  // namespace

FusionPlan fuse(std::span<const Ready> in_order, std::int64_t threshold_bytes) {
  std::list<Waiting> waiting;
  for (std::size_t i = 0; i < in_order.size(); ++i) {
    const auto element = static_cast<std::int64_t>(bytes_of(in_order[i].dtype));
    waiting.push_back({i, in_order[i].dtype, element * in_order[i].count});
  }
  FusionPlan plan;
  group_the_rest(std::move(waiting), threshold_bytes, plan);
  return plan;
}

}  // namespace lockstep::horovod
