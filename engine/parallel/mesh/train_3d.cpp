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
                     "reduce_gradients_3d: ", "gradient ", i, " is partial along ", name_of(axis),
                     "; only copies along tp ", "or pp can be");
    }
  }
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
}

bool counts_in_norm(const GradientKind& gradient, const Coordinates& at) {
  return std::ranges::none_of(usual_order, [&](Axis axis) {
    return axis != Axis::dp && gradient.copies.has(axis) && at[axis] > 0;
  });
}

}  // namespace lockstep::mesh
