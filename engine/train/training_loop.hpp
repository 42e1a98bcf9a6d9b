// The complete loop of synchronous data parallelism: equal replicas, an order of samples for each
// epoch, steps, a rate for each step, a log, an end.
//   N ranks of the group, B samples per rank and step; a step's global batch is N·B samples
//
// Left out: evaluation, workers, checkpoints, more than one observer (engine/train/loop.hpp has
// them).
#pragma once

#include <cstdint>
#include <functional>

#include "engine/comm/process_group.hpp"
#include "engine/data/dataset.hpp"
#include "engine/nn/module.hpp"
#include "engine/optim/optimizer.hpp"
#include "engine/optim/schedule.hpp"

namespace lockstep::train {

// One optimizer step, as it is logged.
struct LoggedStep {
  std::int64_t step = 0;  // optimizer steps before it, over all epochs
  int epoch = 0;          // from 0
  double loss = 0;        // mean over the global batch, before the update
};

struct LoopOptions {
  std::int64_t batch_size = 64;  // B
  int epochs = 1;
  std::uint64_t seed = 0;    // of the order of samples (the epoch is added to it), and of dropout
  optim::Schedule schedule;  // the rate of each optimizer step, counted over all epochs
  double clip_norm = 0;      // bound on the gradient's global norm; 0: none
  std::function<void(const LoggedStep&)> log;  // given on every rank, called on rank 0 only
};

// Trains the replicas. A part: defined in solutions/05_data_parallel.
//   model      the same architecture on every rank; on entry its numbers may differ: rank 0's win
//   optimizer  of the model's parameters, without state; the loop sets its rate before each step
//   Ensures    rank r reads data::distributed_indices of (seed, epoch), shuffled and padded, in
//              batches of B; the last one of an epoch may be smaller, on all ranks alike.
//              Before each step the model is told nn::Occasion{training, seed, step, r, N}: sample
//              i of rank r is number r + i·N of the global batch, for any N.
//              Replicas are equal bit for bit; runs of equal N·B have the same losses up to
//              rounding. Each step is logged once, in order. No rank returns before rank 0 has
//              logged the last step, because rank 0 may host the store.
//   Comm       once: a broadcast of the model; per step: data_parallel_step, and one reduction of
//              the loss (8 bytes); at the end: a barrier
//   Throws     CommError when a peer is lost
//   Source     [DDP20] §2.2; PyTorch torch/utils/data/distributed.py (set_epoch)
void distributed_train(comm::ProcessGroup& group, nn::Module& model, optim::Optimizer& optimizer,
                       const data::Dataset& dataset, const LoopOptions& options);

}  // namespace lockstep::train
