// Copies what is counted into one long tensor of float64, and starts the reductions to wait for
// them.
#include <algorithm>
#include <cmath>
#include <vector>

#include "engine/base/error.hpp"
#include "engine/replicas/clip_global_norm.hpp"
#include "engine/tensor/ops.hpp"

namespace lockstep::replicas {

Tensor clip_global_norm(std::span<comm::ProcessGroup* const> groups, const GradientPieces& pieces,
                        double max_norm) {
  const auto first = std::ranges::find_if(pieces.counted, &Tensor::defined);
  if (first == pieces.counted.end()) {
    if (groups.empty()) return {};
    throw ContractError("nothing to count");
  }
  std::vector<double> all;
  for (const Tensor& tensor : pieces.counted) {
    for (std::int64_t e = 0; tensor.defined() && e < tensor.numel(); ++e) {
      all.push_back(tensor.item(e));
    }
  }
  const Tensor flat = from_values(all, {std::ssize(all)}, DType::float64, first->device());
  const Tensor total = ops::sum(ops::multiply(flat, flat));
  for (comm::ProcessGroup* group : groups) group->all_reduce_async(total, ReduceOp::sum).wait();
  const double norm = std::sqrt(total.item());
  const double factor = max_norm / (norm + 1e-6);
  const bool clips = max_norm > 0 && std::isfinite(norm) && factor < 1;
  for (const auto& list : {pieces.counted, pieces.copies}) {
    for (const Tensor& tensor : list) {
      if (clips && tensor.defined()) tensor.scale_(factor);
    }
  }
  total.fill_(norm);
  return total;
}

}  // namespace lockstep::replicas
