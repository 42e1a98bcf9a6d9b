#include "engine/replicas/clip_global_norm.hpp"

#include <vector>

#include "engine/base/error.hpp"
#include "engine/tensor/ops.hpp"

namespace lockstep::replicas {
namespace {

std::vector<Tensor> defined_of(std::span<const Tensor> tensors) {
  std::vector<Tensor> all;
  for (const Tensor& tensor : tensors) {
    if (tensor.defined()) all.push_back(tensor);
  }
  return all;
}

}  // namespace

Tensor clip_global_norm(std::span<comm::ProcessGroup* const> groups, const GradientPieces& pieces,
                        double max_norm) {
  const std::vector<Tensor> counted = defined_of(pieces.counted);
  if (counted.empty()) {
    LOCKSTEP_CHECK(groups.empty(), "clip_global_norm: ", groups.front()->own_name(),
                   " counts no gradient, so it has no part in the norm; give each rank a piece, "
                   "of zeros if need be");
    return {};
  }
  const Tensor squares = ops::sum_of_squares(counted);
  for (comm::ProcessGroup* group : groups) {
    if (group->size() > 1) group->all_reduce(squares, ReduceOp::sum);
  }
  const auto [norm, factor] = ops::clip_factor(squares, max_norm);
  if (max_norm <= 0) return norm;
  for (const Tensor& gradient : counted) ops::scale_by_(gradient, factor);
  for (const Tensor& gradient : defined_of(pieces.copies)) ops::scale_by_(gradient, factor);
  return norm;
}

}  // namespace lockstep::replicas
