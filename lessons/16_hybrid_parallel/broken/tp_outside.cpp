// Wrong on purpose: reads the order from its end, so pipeline stages are neighbours, and the ranks
// that share a layer are as far apart as the world allows.
#include <algorithm>
#include <cstdint>

#include "engine/base/error.hpp"
#include "engine/parallel/mesh/device_mesh.hpp"

namespace lockstep::mesh {

Mesh make_mesh(int world, const AxisSizes& sizes, const AxisOrder& order) {
  std::int64_t product = 1;
  for (const Axis axis : order) product *= sizes[axis];
  LOCKSTEP_CHECK(product == world, "make_mesh: sizes multiply to ", product, ", not to ", world);
  Mesh mesh{sizes, std::vector<Coordinates>(static_cast<std::size_t>(world)), {}};
  int stride = 1;
  for (auto axis = order.rbegin(); axis != order.rend(); ++axis) {
    Groups& groups = mesh.groups[static_cast<std::size_t>(*axis)];
    for (int rank = 0; rank < world; ++rank) {
      const int place = rank / stride % sizes[*axis];
      mesh.coordinates[static_cast<std::size_t>(rank)][*axis] = place;
      if (place > 0) continue;
      std::vector<int>& group = groups.emplace_back();
      for (int i = 0; i < sizes[*axis]; ++i) group.push_back(rank + i * stride);
    }
    stride *= sizes[*axis];
  }
  return mesh;
}

}  // namespace lockstep::mesh
