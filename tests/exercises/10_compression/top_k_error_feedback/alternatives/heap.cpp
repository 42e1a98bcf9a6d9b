// A heap of the k largest so far, through one element at a time, and a copy of what waits.
#include <cmath>
#include <limits>
#include <queue>
#include <utility>
#include <vector>

#include "engine/parallel/compress/continuation.hpp"
#include "engine/parallel/compress/entries.hpp"
#include "engine/parallel/compress/top_k.hpp"

namespace lockstep::compress {
namespace {

struct Found {
  double size;
  std::int64_t place;
  // The top of the heap is what leaves it first: the smallest, and of equal ones the last.
  bool operator<(const Found& other) const {
    return size != other.size ? size > other.size : place < other.place;
  }
};

}  // namespace

comm::Work top_k_reduce(comm::ProcessGroup& group, const Tensor& gradient, const Tensor& residual,
                        double fraction) {
  const std::int64_t k = entries_of(gradient.numel(), fraction);
  residual.reduce_(gradient, ReduceOp::sum);
  std::priority_queue<Found> heap;
  for (std::int64_t i = 0; i < residual.numel(); ++i) {
    const double value = residual.item(i);
    heap.push({std::isnan(value) ? std::numeric_limits<double>::infinity() : std::abs(value), i});
    if (std::cmp_greater(heap.size(), k)) heap.pop();
  }
  if (heap.empty()) return {};
  const Tensor block = block_for(gradient, k);
  for (std::int64_t j = 0; !heap.empty(); ++j, heap.pop()) {
    const auto place = static_cast<std::int32_t>(heap.top().place);
    const double value = residual.item(place) / group.size();
    if (gradient.dtype() == DType::float32) {
      write_entry(block, k, j, place, static_cast<float>(value));
    } else {
      write_entry(block, k, j, place, value);
    }
    residual.narrow(place, 1).fill_(0);
  }
  const Tensor all = block.empty_like(block.numel() * group.size());
  return then(group, group.all_gather_async(block, all),
              [gradient, block, all, k] { gradient.copy_(sum_of_entries(all, k, gradient)); });
}

}  // namespace lockstep::compress
