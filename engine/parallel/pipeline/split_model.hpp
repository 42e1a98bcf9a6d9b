// Naive model parallelism: a model that does not fit on one device is cut into layers, each of
// which lies on some device. A batch passes from layer to layer, and its gradient back. Each layer
// waits for its neighbour, so one device works at a time and the others are idle; micro-batches
// (run_stage.hpp) are what changes that.
//   L layers, numbered from 0 in the order of the model
#pragma once

#include <span>

#include "engine/comm/peers.hpp"
#include "engine/tensor/tensor.hpp"

namespace lockstep::pipeline {

// The layers of one device. Only layers that lie there may be asked for. A layer may keep the very
// tensors that its forward pass was given or returned: nothing writes to them, and their room gets
// no other message, until its backward pass has run.
class Layers {
 public:
  virtual ~Layers() = default;

  // Room for what a layer is given by the layer before it, and for the gradient of what it gives to
  // the layer after it: contiguous, of the dtype and on the device of the layer.
  virtual Tensor make_input(int layer) = 0;
  virtual Tensor make_gradient(int layer) = 0;

  //   input    from the layer before; undefined for layer 0, which has the batch
  //   Returns  what the next layer is given; of the last layer the loss, one element
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
//                    lie on one device, a device may have layers that are no neighbours (0, 1, 0),
//                    or none
//   Ensures  the gradients of all layers are those of one device that has all of them
//   Comm     between two neighbours on different devices: the activations once, and as many bytes
//            of gradient back; between neighbours on one device, and to anybody else, nothing
//   Time     the sum over all layers and all transfers: at most one device computes at a time
//   Throws   ContractError for no layers, and for a layer on a device that there is not; CommError
//            when a device is lost
//   Source   [NSC21] §2.2; PyTorch's "Single-Machine Model Parallel Best Practices"
SplitRun run_split(comm::Peers& devices, std::span<const int> device_of_layer, Layers& mine);

}  // namespace lockstep::pipeline
