// Process groups along the axes of a mesh, also along several axes at once: the ranks that hold the
// same weights and read other samples differ in dp, cp and ep, and in nothing else.
#pragma once

#include <memory>
#include <vector>

#include "engine/comm/process_group.hpp"
#include "engine/parallel/mesh/device_mesh.hpp"

namespace lockstep::mesh {

// The ranks that differ from `rank` on these axes alone, and `rank` itself, in the order of ranks.
std::vector<int> ranks_along(const Mesh& mesh, AxisSet axes, int rank);

// This rank's place in a world of these sizes, in the usual order.
//   Throws  ContractError as make_mesh
Coordinates place_of(const comm::ProcessGroup& world, const AxisSizes& sizes);

// This rank's group along some axes, in the usual order. The mesh of a large world is larger than
// what a rank needs of it, so it is gone before the ranks meet.
//   Requires  every rank of the world calls this with the same sizes and axes
//   Ensures   ranks keep their order: rank i of the group is the i-th of ranks_along
//   Comm      a split of the world
//   Throws    ContractError as make_mesh
std::unique_ptr<comm::ProcessGroup> split_along(comm::ProcessGroup& world, const AxisSizes& sizes,
                                                AxisSet axes);

}  // namespace lockstep::mesh
