#include "engine/parallel/mesh/axis_groups.hpp"

#include <algorithm>

#include "engine/base/error.hpp"

namespace lockstep::mesh {
namespace {

// The place of a rank's group among its equals: its coordinates, with the axes of the group left
// out.
Coordinates without(Coordinates at, AxisSet axes) {
  for (const Axis axis : usual_order) {
    if (axes.has(axis)) at[axis] = 0;
  }
  return at;
}

}  // namespace

std::vector<int> ranks_along(const Mesh& mesh, AxisSet axes, int rank) {
  const Coordinates mine = without(mesh.coordinates.at(static_cast<std::size_t>(rank)), axes);
  std::vector<int> ranks;
  for (std::size_t i = 0; i < mesh.coordinates.size(); ++i) {
    if (without(mesh.coordinates[i], axes) == mine) ranks.push_back(static_cast<int>(i));
  }
  return ranks;
}

AxisGroup::AxisGroup(comm::ProcessGroup& world, const Mesh& mesh, AxisSet axes) : group_(&world) {
  LOCKSTEP_CHECK(std::ssize(mesh.coordinates) == world.size(), "a mesh of ",
                 mesh.coordinates.size(), " ranks on a group of ", world.size());
  const std::vector<int> ranks = ranks_along(mesh, axes, world.rank());
  if (std::ssize(ranks) == world.size()) return;
  own_ = world.split(ranks.front(), world.rank());
  group_ = own_.get();
}

}  // namespace lockstep::mesh
