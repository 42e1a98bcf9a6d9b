// Task: train a model on one device. For every batch of every epoch: zero the gradients, forward,
// loss, backward, step. Return each epoch's mean loss over its samples; the loss of a batch is a
// mean already, and the last batch may be shorter than the others. You need five things of the
// engine: Tape and cross_entropy (engine/autograd/tape.hpp), Module (engine/nn/module.hpp),
// Optimizer (engine/optim/optimizer.hpp) and Loader (engine/data/loader.hpp).
// The contract stands in engine/train/single_device_loop.hpp.
#include "engine/train/single_device_loop.hpp"

#include "engine/base/error.hpp"

namespace lockstep::train {

std::vector<double> single_device_loop(nn::Module& model, optim::Optimizer& optimizer,
                                       data::Loader& loader, int epochs) {
  LOCKSTEP_CHECK(epochs >= 0, "single_device_loop: ", epochs, " epochs; pass 0 or more");
  // >>> your code
  // Gradients are undefined when this begins; each step leaves them so again.
  std::vector<double> mean_losses(static_cast<std::size_t>(epochs));
  for (int epoch = 0; epoch < epochs; ++epoch) {
    std::int64_t samples = 0;
    double mean = 0;
    loader.start(epoch);
    for (auto batch = loader.next(); batch; batch = loader.next()) {
      Tape tape(GradMode::record);
      const Value x = tape.constant(batch->inputs);
      const Value loss = autograd::cross_entropy(tape, model.forward(tape, x), batch->labels);
      tape.backward(loss);
      optimizer.step();
      optimizer.zero_grad();
      // The running mean: moves to the new loss by the new samples' share.
      samples += batch->labels.numel();
      mean += (loss.tensor.item() - mean) * static_cast<double>(batch->labels.numel()) /
              static_cast<double>(samples);
    }
    mean_losses[static_cast<std::size_t>(epoch)] = mean;
  }
  return mean_losses;
  // <<< your code
}

}  // namespace lockstep::train
