// Task: train a model whose layers lie on several devices. Each rank runs its own layers, in the
// order of the model: it receives the input of a layer from the previous layer's device, and sends
// the output to the next layer's device. Gradients travel the same way back. Between two layers on
// one device, nothing is sent.
// The contract is in engine/parallel/pipeline/split_model.hpp.
#include "engine/parallel/pipeline/split_model.hpp"

#include <utility>

#include "engine/base/error.hpp"

namespace lockstep::pipeline {

SplitRun run_split(comm::Peers& devices, std::span<const int> device_of_layer, Layers& mine) {
  const int layers = static_cast<int>(device_of_layer.size());
  LOCKSTEP_CHECK(layers > 0, "run_split: a model without layers");
  for (int layer = 0; layer < layers; ++layer) {
    const int device = device_of_layer[static_cast<std::size_t>(layer)];
    LOCKSTEP_CHECK(device >= 0 && device < devices.size(), "run_split: layer ", layer,
                   " is to lie on device ", device, ", but there are ", devices.size());
  }
  // >>> your code
  // Avoids warnings about parameters that are not used yet.
  (void)devices, (void)device_of_layer, (void)mine;
  throw NotImplemented("split_model");
  // <<< your code
}

}  // namespace lockstep::pipeline
