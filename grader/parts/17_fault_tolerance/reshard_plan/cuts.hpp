// Cuts of a tensor, as strategies have them: who holds which boxes.
#pragma once

#include <algorithm>
#include <vector>

#include "engine/checkpoint/reshard_plan.hpp"
#include "grader/judge/case_runner.hpp"
#include "grader/play/boxes.hpp"

namespace lockstep::grader::reshard_plan {

using checkpoint::ShardPlan;

// Flat cuts: ranges of these sizes, one after the other.
inline ShardPlan ranges(const std::vector<std::int64_t>& sizes) {
  ShardPlan plan;
  std::int64_t begin = 0;
  for (const std::int64_t size : sizes) {
    plan.emplace_back();
    if (size > 0) plan.back().push_back({{begin}, {begin + size}});
    begin += size;
  }
  return plan;
}
// Ranges of ⌈D/N⌉ elements, as ZeRO has them; the last ones have fewer or none.
inline ShardPlan equal_ranges(std::int64_t count, std::int64_t ranks) {
  const std::int64_t each = (count + ranks - 1) / ranks;
  std::vector<std::int64_t> sizes;
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    sizes.push_back(std::clamp<std::int64_t>(count - rank * each, 0, each));
  }
  return ranges(sizes);
}
// Ranges of drawn sizes, of which some may be 0, held by ranks in a drawn order.
inline ShardPlan drawn_ranges(CaseRunner& runner, std::int64_t count, int ranks) {
  std::vector<std::int64_t> bounds{0, count}, sizes;
  for (int i = 1; i < ranks; ++i) bounds.push_back(runner.draw_between(0, count));
  std::ranges::sort(bounds);
  for (std::size_t i = 1; i < bounds.size(); ++i) sizes.push_back(bounds[i] - bounds[i - 1]);
  ShardPlan plan = ranges(sizes);
  for (std::size_t i = plan.size(); i-- > 1;) {
    const auto other = runner.draw_between(0, static_cast<std::int64_t>(i));
    std::swap(plan[i], plan[static_cast<std::size_t>(other)]);
  }
  return plan;
}
// A cut along one axis into parts of nearly one size.
inline ShardPlan along(const Shape& shape, std::size_t axis, std::int64_t ranks) {
  ShardPlan plan;
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    Box box = whole_of(shape).front();
    box.begin[axis] = shape[axis] * rank / ranks;
    box.end[axis] = shape[axis] * (rank + 1) / ranks;
    plan.push_back(box.begin[axis] < box.end[axis] ? Boxes{box} : Boxes{});
  }
  return plan;
}
// Flat ranges of a tensor of any shape, as lists of boxes.
inline ShardPlan flat(const Shape& shape, std::int64_t ranks) {
  const std::int64_t count = numel_of(shape), each = (count + ranks - 1) / ranks;
  ShardPlan plan;
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    plan.push_back(range_of(whole_of(shape), std::min(rank * each, count),
                            std::min((rank + 1) * each, count)));
  }
  return plan;
}
// Query, key and value of the heads of a rank: three boxes of a [3·C, C].
inline ShardPlan heads(std::int64_t width, std::int64_t ranks) {
  ShardPlan plan;
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    const std::int64_t begin = width * rank / ranks, end = width * (rank + 1) / ranks;
    Boxes& mine = plan.emplace_back();
    for (std::int64_t part = 0; part < 3; ++part) {
      mine.push_back({{part * width + begin, 0}, {part * width + end, width}});
    }
  }
  return plan;
}

}  // namespace lockstep::grader::reshard_plan
