// The training loop on one device: what every distributed loop must be equal to, and the shortest
// program that uses the whole engine.
//
// For each batch, in this order: the old gradients go, the model runs forward on a tape, the loss
// is the mean cross-entropy of the batch, the tape runs backward, the optimizer updates. Backward
// *adds* to the gradients that are there, so they must be gone before it.
//
// Left out: evaluation, schedules, clipping, logs (engine/train/loop.hpp has them).
#pragma once

#include <vector>

#include "engine/data/loader.hpp"
#include "engine/nn/module.hpp"
#include "engine/optim/optimizer.hpp"

namespace lockstep::train {

// Trains for `epochs` epochs. A part: defined in solutions/01_why_distribute.
//   optimizer  of the model's parameters; their gradients are undefined when this begins
//   loader     its epochs 0, 1, … are each begun once, and read to the end
//   Returns    each epoch's mean loss over its samples, every loss as it was before its update.
//              Batches are means themselves: a short last batch weighs by its size
//   Requires   every epoch has a sample
//   Throws     ContractError when epochs is negative
std::vector<double> single_device_loop(nn::Module& model, optim::Optimizer& optimizer,
                                       data::Loader& loader, int epochs);

}  // namespace lockstep::train
