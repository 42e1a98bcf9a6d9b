// The table of who holds which boxes of which tensor: all ranks know it before pieces are compared,
// gathered or written. Private to this room.
#pragma once

#include <string>
#include <vector>

#include "engine/train/pieces.hpp"

namespace lockstep::train {

// A piece without its elements.
struct Held {
  PieceKind kind;
  std::string name;
  DType dtype;
  Shape shape;
  Boxes boxes;
  int rank;           // who holds it
  std::size_t place;  // in that rank's list
};

// The pieces of all ranks, by rank.
//   Comm  two all-gathers: the lengths of the ranks' lists, and a line of some 40 bytes a piece
std::vector<Held> gather_held(comm::ProcessGroup& group, const std::vector<Piece>& pieces);

// The holders of each tensor, in the order of the first that has it.
std::vector<std::vector<const Held*>> by_tensor(const std::vector<Held>& held);
//   Throws  Error with the first element that is missing of the tensor, if any is
void check_whole(const Held& tensor, const Boxes& missing);

// A piece as a line, the same for pieces that are alike: "0 0.weight 2 64,16 0,0-32,16".
std::string line_of(const Piece& piece);
std::string list_of(const Shape& sizes);  // "64,16"

// The elements of `wanted`, which lie in the piece.
Tensor part_of(const Piece& piece, const Boxes& wanted);

}  // namespace lockstep::train
