// Naive model parallelism: a model that does not fit on one device is cut into layers, each of
// which lies on some device. A batch passes from layer to layer, and its gradient back. Each layer
// waits for its neighbour, so one device works at a time and the others are idle. Micro-batches
// change that (run_stage.hpp).
//   L layers, numbered from 0 in the order of the model
#pragma once

#include <span>

#include "engine/comm/peers.hpp"
#include "engine/tensor/tensor.hpp"

namespace lockstep::pipeline {

// The layers of one device. Only layers of this device may be asked for. A layer may keep the
// tensors that its forward pass was given or returned. Until its backward pass has run, nothing may
// write to them, and their memory receives no other message.
class Layers {
 public:
  virtual ~Layers() = default;

  // Memory for what a layer gets from the layer before it, and for the gradient of what it gives to
  // the layer after it: contiguous, of the dtype and on the device of the layer.
  virtual Tensor make_input(int layer) = 0;
  virtual Tensor make_gradient(int layer) = 0;

  //   input    from the layer before; undefined for layer 0, which has the batch
  //   Returns  what the next layer gets; for the last layer the loss, one element
  virtual Tensor forward(int layer, const Tensor& input) = 0;
  // Adds to the gradients of the layer's parameters. Once, after its forward pass.
  //   gradient  of what forward returned; undefined for the last layer, where backward begins
  //   Returns   the gradient of the layer's input; undefined for layer 0
  virtual Tensor backward(int layer, const Tensor& gradient) = 0;
};

struct SplitRun {
  // On the device of the last layer the loss of the batch; elsewhere undefined.
  Tensor loss;
};

// One forward and one backward pass through the whole model, by the ranks of all its devices.
//   devices          a rank for each device
//   device_of_layer  L: the rank on which each layer lies, the same on every rank. Neighbours may
//                    lie on one device. A device may have layers that are not neighbours (0, 1, 0),
//                    or none
//   Ensures  the gradients of all layers are those of one device that has all of them
//   Comm     between two neighbours on different devices: the activations once, and as many bytes
//            of gradient back. Between neighbours on one device, and to other devices, nothing
//   Time     the sum over all layers and all transfers: at most one device computes at a time
//   Throws   ContractError for no layers, and for a layer on a device that does not exist;
//            CommError when a device is lost
//   Source   [NSC21] §2.2; PyTorch's "Single-Machine Model Parallel Best Practices"
SplitRun run_split(comm::Peers& devices, std::span<const int> device_of_layer, Layers& mine);

}  // namespace lockstep::pipeline
