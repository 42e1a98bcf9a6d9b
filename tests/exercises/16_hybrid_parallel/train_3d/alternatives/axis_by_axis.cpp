// Takes axis after axis, and knows the two kinds of copies by their names.
#include "engine/base/error.hpp"
#include "engine/parallel/mesh/train_3d.hpp"

namespace lockstep::mesh {

std::vector<GradientSum> reduce_gradients_3d(const AxisSizes& sizes,
                                             std::span<const GradientKind> gradients,
                                             MicroBatch after) {
  std::vector<GradientSum> sums;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const auto& [copies, partial] = gradients[i];
    GradientSum sum{.gradient = i, .over = {}, .factor = 1};
    for (const Axis axis : {Axis::dp, Axis::cp, Axis::ep}) {
      if (partial.has(axis)) throw ContractError("shards of the data are averaged");
      sum.factor /= sizes[axis];
      if (copies.has(axis) && sizes[axis] != 1) sum.over.add(axis);
    }
    for (const Axis axis : {Axis::tp, Axis::pp}) {
      if (!partial.has(axis)) continue;
      if (!copies.has(axis)) throw ContractError("a part of a sum that nobody else has");
      if (sizes[axis] != 1) sum.over.add(axis);
    }
    if (sum == GradientSum{.gradient = i, .over = {}, .factor = 1}) continue;
    sums.push_back(sum);
  }
  return after == MicroBatch::last ? sums : std::vector<GradientSum>{};
}

bool counts_in_norm(const GradientKind& gradient, const Coordinates& at) {
  int earlier = 0;  // steps to the first rank that holds a copy
  for (const Axis axis : {Axis::tp, Axis::cp, Axis::ep, Axis::pp}) {
    if (gradient.copies.has(axis)) earlier |= at[axis];
  }
  return earlier == 0;
}

}  // namespace lockstep::mesh
