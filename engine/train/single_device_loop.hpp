// The training loop on one device. Every distributed loop must reach its losses, and it is the
// shortest program that uses the whole engine.
//
// For each batch, in this order: zero the gradients, run the model forward on a tape, take the mean
// cross-entropy of the batch as the loss, run the tape backward, step. Backward *adds* to the
// gradients that are there, so zero them first.
//
// Left out: evaluation, schedules, clipping, logs (engine/train/loop.hpp has them).
#pragma once

#include <vector>

#include "engine/data/loader.hpp"
#include "engine/nn/module.hpp"
#include "engine/optim/optimizer.hpp"

namespace lockstep::train {

// Trains for `epochs` epochs. A part: defined in solutions/01_why_distribute.
//   optimizer  of the model's parameters, whose gradients are undefined at the start
//   loader     epochs 0, 1, … are each started once and read to the end
//   Returns    the mean loss over the samples of each epoch, each loss taken before its update.
//              A batch's loss is a mean already: weigh a short last batch by its size
//   Requires   every epoch has at least one sample
//   Throws     ContractError when epochs is negative
std::vector<double> single_device_loop(nn::Module& model, optim::Optimizer& optimizer,
                                       data::Loader& loader, int epochs);

}  // namespace lockstep::train
