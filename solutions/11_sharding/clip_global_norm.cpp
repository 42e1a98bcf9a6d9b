// Task: bound the norm of a gradient that lies in pieces on several ranks. The norm is that of the
// whole gradient, so every rank scales its pieces by the same factor, and what several ranks hold
// counts once. The contract is in engine/replicas/clip_global_norm.hpp.
#include "engine/replicas/clip_global_norm.hpp"

#include <vector>

#include "engine/base/error.hpp"
#include "engine/tensor/ops.hpp"

namespace lockstep::replicas {

Tensor clip_global_norm(std::span<comm::ProcessGroup* const> groups, const GradientPieces& pieces,
                        double max_norm) {
  // The tensors of a list that are there.
  const auto defined_of = [](std::span<const Tensor> tensors) {
    std::vector<Tensor> all;
    for (const Tensor& tensor : tensors) {
      if (tensor.defined()) all.push_back(tensor);
    }
    return all;
  };
  const std::vector<Tensor> counted = defined_of(pieces.counted);
  const std::vector<Tensor> copies = defined_of(pieces.copies);
  if (counted.empty()) {
    LOCKSTEP_CHECK(groups.empty(), "clip_global_norm: ", groups.front()->own_name(),
                   " counts no gradient, so it has no part in the norm; give each rank a piece, "
                   "of zeros if need be");
    return {};
  }
  // >>> your code
  const Tensor squares = ops::sum_of_squares(counted);
  for (comm::ProcessGroup* group : groups) {
    if (group->size() > 1) group->all_reduce(squares, ReduceOp::sum);
  }
  const auto [norm, factor] = ops::clip_factor(squares, max_norm);
  if (max_norm <= 0) return norm;
  for (const Tensor& gradient : counted) ops::scale_by_(gradient, factor);
  for (const Tensor& gradient : copies) ops::scale_by_(gradient, factor);
  return norm;
  // <<< your code
}

}  // namespace lockstep::replicas
