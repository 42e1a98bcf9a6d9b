// The state of a run in pieces: what one rank holds of one tensor of the whole, in boxes. Pieces of
// several ranks may overlap in any way: what counts is who holds an element.
#pragma once

#include <cstdint>
#include <string>

#include "engine/tensor/box.hpp"

namespace lockstep::checkpoint {

enum class PieceKind : std::uint8_t { parameter, buffer, optimizer_state };

struct Piece {
  PieceKind kind = PieceKind::parameter;
  std::string name;  // of the whole tensor: "h.0.attn.c_attn.weight", "0.bias.exp_avg"
  Shape shape;       // of the whole tensor
  Boxes boxes;       // which part of it this is; they do not overlap
  Tensor value;      // its elements, box after box
};

}  // namespace lockstep::checkpoint
