// Plays device_mesh: a mesh for each question.
#include "engine/parallel/mesh/device_mesh.hpp"

#include "grader/parts/16_hybrid_parallel/device_mesh/case.hpp"
#include "grader/play/function_play.hpp"

namespace lockstep::grader {

Bytes play(sim::PlayerCase& played) {
  return answer_or_refuse_each<MeshQuestion>(played, [](const MeshQuestion& question) {
    return mesh::make_mesh(question.world, question.sizes, question.order);
  });
}

}  // namespace lockstep::grader
