// Wrong on purpose: each rank takes the norm of its own shard and scales it by a factor of its own.
// The shards are then no longer those of one gradient.
#include <vector>

#include "engine/base/error.hpp"
#include "engine/replicas/clip_global_norm.hpp"
#include "engine/tensor/ops.hpp"

namespace lockstep::replicas {

Tensor clip_global_norm(std::span<comm::ProcessGroup* const> groups, const GradientPieces& pieces,
                        double max_norm) {
  const auto defined_of = [](std::span<const Tensor> tensors) {
    std::vector<Tensor> all;
    for (const Tensor& tensor : tensors) {
      if (tensor.defined()) all.push_back(tensor);
    }
    return all;
  };
  const std::vector<Tensor> counted = defined_of(pieces.counted);
  if (counted.empty()) {
    LOCKSTEP_CHECK(groups.empty(), "clip_global_norm: ", groups.front()->own_name(),
                   " counts no gradient");
    return {};
  }
  const Tensor squares = ops::sum_of_squares(counted);  // of this rank's pieces alone
  const auto [norm, factor] = ops::clip_factor(squares, max_norm);
  if (max_norm <= 0) return norm;
  for (const Tensor& gradient : counted) ops::scale_by_(gradient, factor);
  for (const Tensor& gradient : defined_of(pieces.copies)) ops::scale_by_(gradient, factor);
  return norm;
}

}  // namespace lockstep::replicas
