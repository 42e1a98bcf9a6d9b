// The axes of a mesh, as they cross between judge and player.
#pragma once

#include "engine/base/fields.hpp"
#include "engine/parallel/mesh/axes.hpp"

namespace lockstep::mesh {

template <typename Archive, int otherwise>
void fields(Archive& archive, OfAxes<otherwise>& of) {
  archive(of.tp, of.cp, of.ep, of.dp, of.pp);
}

}  // namespace lockstep::mesh
