// The state of a run in pieces: what each rank holds of which tensor of the whole. From these it is
// said whether replicas are equal, and a checkpoint that any number of ranks can read is put
// together.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/checkpoint/checkpoint.hpp"
#include "engine/comm/process_group.hpp"
#include "engine/nn/module.hpp"
#include "engine/optim/optimizer.hpp"
#include "engine/train/agreement.hpp"

namespace lockstep::train {

// The part [begin, end) of a dimension of size `along`, with `outer` rows before it and `inner`
// elements after it: rows, columns, or a range of the flattened tensor (outer = inner = 1).
struct Slice {
  std::int64_t outer = 1, along = 1, inner = 1;
  std::int64_t begin = 0, end = 1;
  bool operator==(const Slice&) const = default;
};
Slice whole_of(const Shape& shape);
bool is_whole(const Slice& slice);

enum class PieceKind : std::uint8_t { parameter, buffer, optimizer_state };

struct Piece {
  PieceKind kind = PieceKind::parameter;
  std::string name;  // of the whole tensor: "h.0.attn.c_attn.weight", "0.bias.exp_avg"
  Shape shape;       // of the whole tensor
  Slice slice;       // which part of it this is
  Tensor value;      // outer · (end - begin) · inner elements
};

// Those of a rank that holds all of a model, and of what an optimizer over its parameters keeps.
std::vector<Piece> whole_pieces(nn::Module& model, const optim::Optimizer& optimizer);

// Compares whether all holders of a parameter's piece hold the same bits. Every rank gets the same
// answer.
//   Comm  an all-gather of 16 bytes a rank. Where ranks hold different pieces, two more: the
//         lengths of their lists, and a line of some 40 bytes a piece
Agreement compare(comm::ProcessGroup& group, const std::vector<Piece>& pieces);

// A tensor put together of its pieces.
struct WholeTensor {
  PieceKind kind = PieceKind::parameter;
  std::string name;
  Tensor value;
};

// All that the group holds, in whole, on rank `to`; in the order of the first rank that has each.
// Elsewhere nothing.
//   Comm    an all-gather of 16 bytes a rank; nothing more where all hold all of it. Else the list
//           of pieces to every rank, and each piece that `to` lacks once, from the first rank that
//           holds it
//   device  of what is put together
//   Throws  Error, on every rank, when nobody holds a part of a tensor
std::vector<WholeTensor> gather_whole(comm::ProcessGroup& group, int to,
                                      const std::vector<Piece>& pieces, Device& device);
// The same, as a checkpoint is made of it. `optimizer` is the optimizer's kind.
checkpoint::Contents gather_contents(comm::ProcessGroup& group, int to,
                                     const std::vector<Piece>& pieces, Device& device,
                                     std::string_view optimizer);

// The part `slice` of a whole tensor, in a tensor of its own.
Tensor cut(const Tensor& whole, const Slice& slice);

}  // namespace lockstep::train
