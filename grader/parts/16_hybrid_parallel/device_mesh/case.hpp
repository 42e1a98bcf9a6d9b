// The case format of device_mesh, shared by adapter and exam.
#pragma once

#include "engine/parallel/mesh/device_mesh.hpp"
#include "grader/play/mesh_axes.hpp"
#include "grader/play/part.hpp"

namespace lockstep::mesh {

template <typename Archive>
void fields(Archive& archive, Mesh& mesh) {
  archive(mesh.sizes, mesh.coordinates, mesh.groups);
}

}  // namespace lockstep::mesh

namespace lockstep::grader {

struct MeshQuestion {
  int world = 1;
  mesh::AxisSizes sizes;
  mesh::AxisOrder order = mesh::usual_order;
};
template <typename Archive>
void fields(Archive& archive, MeshQuestion& question) {
  archive(question.world, question.sizes, question.order);
}

}  // namespace lockstep::grader
