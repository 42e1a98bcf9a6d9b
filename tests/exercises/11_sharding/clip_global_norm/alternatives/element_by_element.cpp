// Sums the squares by hand; every rank gathers the sums of all and adds them itself, in one order.
#include <cmath>

#include "engine/base/error.hpp"
#include "engine/replicas/clip_global_norm.hpp"

namespace lockstep::replicas {

Tensor clip_global_norm(std::span<comm::ProcessGroup* const> groups, const GradientPieces& pieces,
                        double max_norm) {
  double squares = 0;
  Device* device = nullptr;
  for (const Tensor& tensor : pieces.counted) {
    if (!tensor.defined()) continue;
    device = &tensor.device();
    for (std::int64_t e = 0; e < tensor.numel(); ++e) squares += tensor.item(e) * tensor.item(e);
  }
  if (device == nullptr) {
    if (!groups.empty()) throw ContractError("a rank that counts nothing");
    return {};
  }
  for (comm::ProcessGroup* group : groups) {
    const Tensor all = empty({group->size()}, DType::float64, *device);
    group->all_gather(full({1}, squares, DType::float64, *device), all);
    squares = 0;
    for (int rank = 0; rank < group->size(); ++rank) squares += all.item(rank);
  }
  const double norm = std::sqrt(squares);
  if (std::isfinite(norm) && max_norm > 0 && norm + 1e-6 > max_norm) {
    const double factor = max_norm / (norm + 1e-6);
    for (const auto& list : {pieces.counted, pieces.copies}) {
      for (const Tensor& tensor : list) {
        if (tensor.defined()) tensor.scale_(factor);
      }
    }
  }
  return full({1}, norm, DType::float64, *device);
}

}  // namespace lockstep::replicas
