// Wrong on purpose: each rank draws its weights from a seed of its own, and nobody broadcasts. The
// gradients are averaged well, but they are gradients of N different models.
#include <cmath>

#include "engine/base/random.hpp"
#include "engine/nn/initialise.hpp"
#include "engine/replicas/broadcast_parameters.hpp"

namespace lockstep::replicas {

void broadcast_parameters(comm::ProcessGroup& group, nn::Module& model, int source) {
  static_cast<void>(source);  // whose weights all should have
  std::uint64_t stream = random_bits(static_cast<std::uint64_t>(group.rank()), 0);
  for (const Parameter* parameter : model.parameters()) {
    const Tensor& value = parameter->value;
    const double bound = 1 / std::sqrt(static_cast<double>(value.shape().back()));
    value.copy_(nn::uniform(value.shape(), bound, ++stream, value.dtype(), value.device()));
  }
}

}  // namespace lockstep::replicas
