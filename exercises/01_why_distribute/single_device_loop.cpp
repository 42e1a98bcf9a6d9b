// Task: train a model on one device. For every batch of every epoch: zero the gradients, forward,
// loss, backward, step. Return each epoch's mean loss over its samples; the loss of a batch is a
// mean already, and the last batch may be shorter than the others. You need five things from the
// engine: Tape (engine/autograd/tape.hpp), cross_entropy (engine/autograd/operations.hpp), Module
// (engine/nn/module.hpp), Optimizer (engine/optim/optimizer.hpp), Loader (engine/data/loader.hpp).
// The contract is in engine/train/single_device_loop.hpp.
#include "engine/train/single_device_loop.hpp"

#include "engine/base/error.hpp"

namespace lockstep::train {

std::vector<double> single_device_loop(nn::Module& model, optim::Optimizer& optimizer,
                                       data::Loader& loader, int epochs) {
  LOCKSTEP_CHECK(epochs >= 0, "single_device_loop: ", epochs, " epochs; pass 0 or more");
  // >>> your code
  // Avoids warnings about parameters that are not used yet.
  (void)model, (void)optimizer, (void)loader, (void)epochs;
  throw NotImplemented("single_device_loop");
  // <<< your code
}

}  // namespace lockstep::train
