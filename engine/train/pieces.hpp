// The pieces of all ranks (checkpoint/piece.hpp) together: whether replicas are equal, and the
// whole that is put together of them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/error.hpp"
#include "engine/checkpoint/checkpoint.hpp"
#include "engine/comm/process_group.hpp"
#include "engine/nn/module.hpp"
#include "engine/optim/optimizer.hpp"
#include "engine/tensor/box.hpp"
#include "engine/train/agreement.hpp"

namespace lockstep::train {

using checkpoint::Piece;
using checkpoint::PieceKind;

// The state of some rank is not all numbers (checkpoint/finite.hpp).
struct NotFinite : Error {
  using Error::Error;  // with the first such rank's first such tensor: "0.weight is nan on rank 1"
};

//   Comm    an all-gather of 16 bytes a rank
//   Throws  NotFinite, the same on every rank
void check_finite(comm::ProcessGroup& group, const std::vector<Piece>& pieces);

// Those of a rank that holds all of a model, and of what an optimizer over its parameters keeps.
std::vector<Piece> whole_pieces(nn::Module& model, const optim::Optimizer& optimizer);

// Compares whether all holders of an element of a parameter hold the same bits. Every rank gets the
// same answer.
//   Comm  an all-gather of 16 bytes a rank. Where ranks hold different pieces, three more: the
//         lengths of their lists, a line of some 40 bytes a piece, and 8 bytes for each box and for
//         what it has in common with another that is not the same
//   Throws  as check_finite, in the same all-gather
Agreement compare(comm::ProcessGroup& group, const std::vector<Piece>& pieces);

// All that the group holds, in whole tensors, on rank `to`; in the order of the first rank that has
// each. Elsewhere nothing.
//   Comm    an all-gather of 16 bytes a rank; nothing more where all hold all of it. Else the list
//           of pieces to every rank, and each element that `to` lacks once: from the first rank
//           that holds the whole tensor, or else from the first that holds the element
//   device  of what is put together
//   Throws  Error, on every rank, when nobody holds a part of a tensor; as check_finite, in the
//   same
//           all-gather
std::vector<Piece> gather_whole(comm::ProcessGroup& group, int to, const std::vector<Piece>& pieces,
                                Device& device);
// The same, as a checkpoint is made of it. `optimizer` is the optimizer's kind.
checkpoint::Contents gather_contents(comm::ProcessGroup& group, int to,
                                     const std::vector<Piece>& pieces, Device& device,
                                     std::string_view optimizer);

}  // namespace lockstep::train
