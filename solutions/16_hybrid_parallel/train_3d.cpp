// Task: decide what is done with the gradients of a step that is trained along several axes: which
// of them are summed over which ranks, when, and by what they are multiplied. Then say which rank
// counts an element in the norm. The contract is in engine/parallel/mesh/train_3d.hpp.
#include "engine/parallel/mesh/train_3d.hpp"

#include <algorithm>

#include "engine/base/error.hpp"

namespace lockstep::mesh {

std::vector<GradientSum> reduce_gradients_3d(const AxisSizes& sizes,
                                             std::span<const GradientKind> gradients,
                                             MicroBatch after) {
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    for (const Axis axis : usual_order) {
      if (!gradients[i].partial.has(axis)) continue;
      LOCKSTEP_CHECK(gradients[i].copies.has(axis) && !data_axes.has(axis),
                     "reduce_gradients_3d: gradient ", i, " is partial along ", name_of(axis),
                     "; only copies along tp or pp can be");
    }
  }
  // >>> your code
  std::vector<GradientSum> sums;
  if (after == MicroBatch::more_follow) return sums;
  const double factor = 1.0 / (static_cast<double>(sizes.dp) * sizes.ep * sizes.cp);
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const GradientKind& gradient = gradients[i];
    AxisSet over;
    for (const Axis axis : usual_order) {
      const bool sums_up =
          data_axes.has(axis) ? gradient.copies.has(axis) : gradient.partial.has(axis);
      if (sums_up && sizes[axis] > 1) over.add(axis);
    }
    if (!over.empty() || factor != 1) sums.push_back({i, over, factor});
  }
  return sums;
  // <<< your code
}

bool counts_in_norm(const GradientKind& gradient, const Coordinates& at) {
  // >>> your code
  return std::ranges::none_of(usual_order, [&](Axis axis) {
    return axis != Axis::dp && gradient.copies.has(axis) && at[axis] > 0;
  });
  // <<< your code
}

}  // namespace lockstep::mesh
