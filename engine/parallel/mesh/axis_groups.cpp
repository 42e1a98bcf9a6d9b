#include "engine/parallel/mesh/axis_groups.hpp"

namespace lockstep::mesh {
namespace {

// The place that all ranks of a group along these axes have in common.
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

Coordinates place_of(const comm::ProcessGroup& world, const AxisSizes& sizes) {
  return make_mesh(world.size(), sizes, usual_order)
      .coordinates[static_cast<std::size_t>(world.rank())];
}

std::unique_ptr<comm::ProcessGroup> split_along(comm::ProcessGroup& world, const AxisSizes& sizes,
                                                AxisSet axes) {
  // A group is known by its lowest rank.
  const int first =
      ranks_along(make_mesh(world.size(), sizes, usual_order), axes, world.rank()).front();
  return world.split(first, world.rank());
}

}  // namespace lockstep::mesh
