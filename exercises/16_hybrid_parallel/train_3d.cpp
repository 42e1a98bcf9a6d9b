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
  // Avoids warnings about parameters that are not used yet.
  (void)sizes, (void)gradients, (void)after;
  throw NotImplemented("train_3d");
  // <<< your code
}

bool counts_in_norm(const GradientKind& gradient, const Coordinates& at) {
  // >>> your code
  // Avoids warnings about parameters that are not used yet.
  (void)gradient, (void)at;
  throw NotImplemented("train_3d");
  // <<< your code
}

}  // namespace lockstep::mesh
