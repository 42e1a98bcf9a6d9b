// Five loops, the slowest axis outside: ranks are numbered as they come.
#include "engine/base/error.hpp"
#include "engine/parallel/mesh/device_mesh.hpp"

namespace lockstep::mesh {

Mesh make_mesh(int world, const AxisSizes& sizes, const AxisOrder& order) {
  AxisSet named;
  int rest = world;
  for (const Axis axis : order) {
    if (sizes[axis] < 1) throw ContractError("an axis has at least one place");
    if (named.has(axis)) throw ContractError("an axis stands in the order once");
    named.add(axis);
    if (rest < 1 || rest % sizes[axis] != 0)
      throw ContractError("the sizes do not divide the world");
    rest /= sizes[axis];
  }
  if (rest != 1) throw ContractError("ranks are left over");

  Mesh mesh;
  mesh.sizes = sizes;
  const auto [a, b, c, d, e] = order;
  Coordinates at;
  for (at[e] = 0; at[e] < sizes[e]; ++at[e]) {
    for (at[d] = 0; at[d] < sizes[d]; ++at[d]) {
      for (at[c] = 0; at[c] < sizes[c]; ++at[c]) {
        for (at[b] = 0; at[b] < sizes[b]; ++at[b]) {
          for (at[a] = 0; at[a] < sizes[a]; ++at[a]) mesh.coordinates.push_back(at);
        }
      }
    }
  }
  // The rank at a place, by the same loops.
  const auto rank_at = [&](const Coordinates& place) {
    int rank = 0;
    for (auto axis = order.rbegin(); axis != order.rend(); ++axis) {
      rank = rank * sizes[*axis] + place[*axis];
    }
    return rank;
  };
  for (const Axis axis : order) {
    for (Coordinates place : mesh.coordinates) {
      if (place[axis] > 0) continue;
      auto& group = mesh.groups[static_cast<std::size_t>(axis)].emplace_back();
      for (; place[axis] < sizes[axis]; ++place[axis]) group.push_back(rank_at(place));
    }
  }
  return mesh;
}

}  // namespace lockstep::mesh
