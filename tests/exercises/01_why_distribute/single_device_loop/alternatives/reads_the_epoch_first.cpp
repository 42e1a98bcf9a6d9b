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
  const auto step = [&](const data::Batch& batch) {
    Tape tape(GradMode::record);
    const Value logits = model.forward(tape, tape.constant(batch.inputs));
    const Value loss = autograd::cross_entropy(tape, logits, batch.labels);
    optimizer.zero_grad();  // anywhere before backward
    tape.backward(loss);
    optimizer.step();
    return loss.tensor.item();
  };
  std::vector<double> mean_losses;
  for (int epoch = 0; epoch < epochs; ++epoch) {
    loader.start(epoch);
    std::vector<data::Batch> batches;
    double samples = 0;
    while (auto batch = loader.next()) {
      samples += static_cast<double>(batch->inputs.size(0));
      batches.push_back(*batch);
    }
    double mean = 0;
    for (const data::Batch& batch : batches) {
      mean += step(batch) * (static_cast<double>(batch.inputs.size(0)) / samples);
    }
    mean_losses.push_back(mean);
  }
  return mean_losses;
  // <<< your code
}

}  // namespace lockstep::train
