// Task: lay out the ranks of a world along five axes: a place on each axis for every rank, and for
// each axis the groups of ranks that differ on it alone. The contract is in
// engine/parallel/mesh/device_mesh.hpp.
#include "engine/parallel/mesh/device_mesh.hpp"

#include <algorithm>
#include <cstdint>

#include "engine/base/error.hpp"

namespace lockstep::mesh {

Mesh make_mesh(int world, const AxisSizes& sizes, const AxisOrder& order) {
  for (const Axis axis : order) {
    LOCKSTEP_CHECK(sizes[axis] >= 1, "make_mesh: axis ", name_of(axis), " has size ", sizes[axis],
                   "; an axis that is not used has size 1");
    LOCKSTEP_CHECK(std::ranges::count(order, axis) == 1, "make_mesh: the order names axis ",
                   name_of(axis), " twice; it names each axis once");
  }
  // >>> your code
  std::int64_t ranks = 1;
  for (const Axis axis : order) ranks = std::min(ranks * sizes[axis], std::int64_t{1} << 32);
  LOCKSTEP_CHECK(ranks == world, "make_mesh: tp ", sizes.tp, " · cp ", sizes.cp, " · ep ", sizes.ep,
                 " · dp ", sizes.dp, " · pp ", sizes.pp, " is ", ranks,
                 " ranks, but the world has ", world, "; change a size, or start ", ranks,
                 " ranks");

  Mesh mesh{sizes, std::vector<Coordinates>(static_cast<std::size_t>(world)), {}};
  int stride = 1;  // between neighbours on the axis
  for (const Axis axis : order) {
    const int size = sizes[axis];
    Groups& groups = mesh.groups[static_cast<std::size_t>(axis)];
    for (int rank = 0; rank < world; ++rank) {
      const int place = rank / stride % size;
      mesh.coordinates[static_cast<std::size_t>(rank)][axis] = place;
      if (place > 0) continue;
      std::vector<int>& group = groups.emplace_back();
      for (int i = 0; i < size; ++i) group.push_back(rank + i * stride);
    }
    stride *= size;
  }
  return mesh;
  // <<< your code
}

}  // namespace lockstep::mesh
