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

// A rank's group along some axes. Where that is the whole world, it is the world's own group, and
// nothing is connected.
class AxisGroup {
 public:
  // Every rank of the world calls this, with the same mesh and axes.
  //   world    must outlive the group
  //   Ensures  ranks keep their order: the group's rank i is the i-th of ranks_along
  //   Comm     a split of the world, unless the group is the world
  AxisGroup(comm::ProcessGroup& world, const Mesh& mesh, AxisSet axes);

  comm::ProcessGroup& operator*() const { return *group_; }
  comm::ProcessGroup* operator->() const { return group_; }
  // The payload that this group alone has carried: none where it is the world's.
  std::int64_t bytes_sent() const { return own_ ? own_->traffic().bytes_sent : 0; }

 private:
  std::unique_ptr<comm::ProcessGroup> own_;
  comm::ProcessGroup* group_;
};

}  // namespace lockstep::mesh
