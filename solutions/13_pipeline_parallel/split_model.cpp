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
  const int me = devices.rank();
  // Of a layer before the first one or after the last one there is no device.
  const auto device_of = [&](int layer) {
    const bool exists = layer >= 0 && layer < layers;
    return exists ? device_of_layer[static_cast<std::size_t>(layer)] : me;
  };
  SplitRun run;
  Tensor carried;  // what my last layer made
  for (int layer = 0; layer < layers; ++layer) {
    if (device_of(layer) != me) continue;
    Tensor input = std::exchange(carried, {});
    if (const int src = device_of(layer - 1); src != me) {
      input = mine.make_input(layer);
      devices.recv(input, src);
    }
    carried = mine.forward(layer, input);
    if (const int dst = device_of(layer + 1); dst != me) devices.send(carried, dst);
  }
  if (device_of(layers - 1) == me) run.loss = carried;
  carried = {};
  for (int layer = layers - 1; layer >= 0; --layer) {
    if (device_of(layer) != me) continue;
    Tensor gradient = std::exchange(carried, {});
    if (const int src = device_of(layer + 1); src != me) {
      gradient = mine.make_gradient(layer);
      devices.recv(gradient, src);
    }
    carried = mine.backward(layer, gradient);
    if (const int dst = device_of(layer - 1); dst != me) devices.send(carried, dst);
  }
  return run;
  // <<< your code
}

}  // namespace lockstep::pipeline
