// Positions of tokens, as they cross between judge and player.
#pragma once

#include "engine/base/fields.hpp"
#include "engine/tensor/positions.hpp"

namespace lockstep {

template <typename Archive>
void fields(Archive& archive, TokenRange& range) {
  archive(range.first, range.count);
}
template <typename Archive>
void fields(Archive& archive, Positions& positions) {
  archive(positions.early, positions.late);
}

}  // namespace lockstep
