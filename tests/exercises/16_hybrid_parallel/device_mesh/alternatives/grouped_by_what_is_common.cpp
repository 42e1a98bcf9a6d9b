// Counts places like an odometer. A group is what has the same places on all other axes.
#include <map>

#include "engine/base/error.hpp"
#include "engine/parallel/mesh/device_mesh.hpp"

namespace lockstep::mesh {

Mesh make_mesh(int world, const AxisSizes& sizes, const AxisOrder& order) {
  double product = 1;  // exact as far as it can be a world
  AxisSet named;
  for (const Axis axis : order) {
    LOCKSTEP_CHECK(sizes[axis] > 0 && !named.has(axis), "axis ", name_of(axis));
    named.add(axis);
    product *= sizes[axis];
  }
  LOCKSTEP_CHECK(product == world, product, " ranks in a world of ", world);

  Mesh mesh{sizes, {}, {}};
  Coordinates at;
  std::array<std::map<std::array<int, 5>, std::vector<int>>, 5> found;
  for (int rank = 0; rank < world; ++rank) {
    mesh.coordinates.push_back(at);
    for (const Axis axis : order) {
      // From slow to fast, so that groups are sorted as their first ranks are.
      std::array<int, 5> common{};
      for (std::size_t i = 0; i < 5; ++i) common[4 - i] = order[i] == axis ? 0 : at[order[i]];
      found[static_cast<std::size_t>(axis)][common].push_back(rank);
    }
    for (const Axis axis : order) {
      if (++at[axis] < sizes[axis]) break;
      at[axis] = 0;
    }
  }
  for (std::size_t axis = 0; axis < 5; ++axis) {
    for (auto& [common, ranks] : found[axis]) mesh.groups[axis].push_back(std::move(ranks));
  }
  return mesh;
}

}  // namespace lockstep::mesh
