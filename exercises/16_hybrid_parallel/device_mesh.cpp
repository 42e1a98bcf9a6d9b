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
  // Avoids warnings about parameters that are not used yet.
  (void)world, (void)sizes, (void)order;
  throw NotImplemented("device_mesh");
  // <<< your code
}

}  // namespace lockstep::mesh
