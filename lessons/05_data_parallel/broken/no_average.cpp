// Wrong on purpose: every rank steps with the gradient of its own samples. Nothing fails, because
// every rank still trains a model; they are no longer the same model.
#include "engine/parallel/data_parallel/average_gradients.hpp"

namespace lockstep::data_parallel {

void average_gradients(comm::ProcessGroup& group, std::span<Parameter* const> parameters) {
  static_cast<void>(group);  // never asked
  static_cast<void>(parameters);
}

}  // namespace lockstep::data_parallel
