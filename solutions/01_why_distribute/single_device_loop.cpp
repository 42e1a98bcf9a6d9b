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
  std::vector<double> mean_losses;
  for (int epoch = 0; epoch < epochs; ++epoch) {
    double loss_sum = 0, samples = 0;
    loader.start(epoch);
    while (const auto batch = loader.next()) {
      optimizer.zero_grad();
      Tape tape(GradMode::record);
      const Value logits = model.forward(tape, tape.constant(batch->inputs));
      const Value loss = autograd::cross_entropy(tape, logits, batch->labels);
      tape.backward(loss);
      optimizer.step();

      const auto size = static_cast<double>(batch->inputs.size(0));
      loss_sum += loss.tensor.item() * size;
      samples += size;
    }
    mean_losses.push_back(loss_sum / samples);
  }
  return mean_losses;
  // <<< your code
}

}  // namespace lockstep::train
