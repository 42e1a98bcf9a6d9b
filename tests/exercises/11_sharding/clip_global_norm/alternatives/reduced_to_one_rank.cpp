// Rank 0 of each group adds the squares and tells the others.
#include <cmath>

#include "engine/base/error.hpp"
#include "engine/replicas/clip_global_norm.hpp"
#include "engine/tensor/ops.hpp"

namespace lockstep::replicas {

Tensor clip_global_norm(std::span<comm::ProcessGroup* const> groups, const GradientPieces& pieces,
                        double max_norm) {
  Tensor norm;
  for (const Tensor& tensor : pieces.counted) {
    if (!tensor.defined()) continue;
    if (!norm.defined()) norm = zeros({1}, DType::float64, tensor.device());
    norm.reduce_(ops::sum_of_squares(std::span(&tensor, 1)), ReduceOp::sum);
  }
  LOCKSTEP_CHECK(norm.defined() || groups.empty(), "nothing to count");
  if (!norm.defined()) return norm;
  for (comm::ProcessGroup* group : groups) {
    group->reduce(norm, 0, ReduceOp::sum);
    group->broadcast(norm, 0);
  }
  norm.fill_(std::sqrt(norm.item()));
  const double bound = max_norm / (norm.item() + 1e-6);
  if (max_norm <= 0 || !(bound < 1) || std::isinf(norm.item())) return norm;
  for (const Tensor& tensor : pieces.counted) {
    if (tensor.defined()) tensor.scale_(bound);
  }
  for (const Tensor& tensor : pieces.copies) {
    if (tensor.defined()) tensor.scale_(bound);
  }
  return norm;
}

}  // namespace lockstep::replicas
