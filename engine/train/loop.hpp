// The training loop: what a rank does with its group, its replica of the model, and the data. It
// is a function of values; the same call on N ranks is synchronous data-parallel training.
//   N ranks of the group, B samples of a batch, K batches a rank and step: a step's global batch is
//   N·B·K samples
//
// The sampler deals an epoch's order out like cards, so step k reads the places
// [k·N·B·K, (k+1)·N·B·K) of that order whatever N is: runs with equal N·B·K and seed see the same
// samples and differ by rounding only. The last step of an epoch may have fewer batches, and its
// last batch fewer samples, on all ranks alike.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "engine/comm/process_group.hpp"
#include "engine/data/dataset.hpp"
#include "engine/nn/module.hpp"
#include "engine/optim/optimizer.hpp"
#include "engine/optim/scale_learning_rate.hpp"
#include "engine/optim/schedule.hpp"
#include "engine/strand/strand.hpp"
#include "engine/train/observer.hpp"
#include "engine/train/step.hpp"

namespace lockstep::train {

struct TrainOptions {
  std::int64_t batch_size = 64;  // B
  std::int64_t accumulate = 1;   // K
  std::int64_t epochs = 1;
  std::int64_t steps = 0;  // when positive, optimizer steps to take; epochs then do not count
  optim::Decay decay = optim::Decay::cosine;
  std::int64_t warmup = 0;  // optimizer steps in which the rate rises to the optimizer's own
  // How the optimizer's rate, found good for updates from `base_batch` samples, follows the global
  // batch; the warm-up then begins at that rate, not near 0. Without: it is taken as it is.
  std::optional<optim::Scaling> scaling = std::nullopt;
  std::int64_t base_batch = 64;
  StepOptions step{};          // how a step is taken
  std::uint64_t seed = 0;      // of the order of samples (the epoch is added to it) and of dropout
  int workers = 0;             // strands that read batches ahead; 0: none
  Strands* strands = nullptr;  // on which they run, must outlive the call; none: threads of its own
  // Optimizer steps that an earlier run took; this one goes on from there, and sees what that one
  // would have seen.
  std::int64_t first_step = 0;
  // Called after every `save_every` steps (0: never) and after the last one, with the steps taken
  // so far, on each rank that was given one; the other ranks meanwhile wait in their next
  // collective, whose deadline it must keep. A checkpoint is the caller's business.
  std::int64_t save_every = 0;
  std::function<void(std::int64_t steps)> save = nullptr;
};

// Optimizer steps that `options` ask for, given `samples` and N `ranks`.
//   Throws  UsageError when a global batch is larger than the data
std::int64_t total_steps(const TrainOptions& options, std::int64_t samples, int ranks);

// Trains the replicas and tells the observers; the same on every rank, but observers may differ.
//   model      rank 0's numbers are broadcast first; its dtype and device are those of its
//              parameters
//   optimizer  over model's parameters; its learning rate on entry is the base of what each step
//              gets: lr_at's (with `scaling`), then the schedule's
//   Ensures    after each epoch (and at the end) every test sample was evaluated exactly once;
//              before each pass the model was told what it is for (nn::Occasion). Times are those
//              of the group's clock. Where the model's device has no numbers, losses are nan, and
//              nothing is evaluated or compared: steps have sizes and a price
//   Comm       once and in a step: as Stepper; an epoch: one all-reduce of three numbers, one
//              all-gather of a hash a rank
//   Throws     UsageError as total_steps; Error when the loss is no longer finite; CommError
Summary train(comm::ProcessGroup& group, nn::Module& model, optim::Optimizer& optimizer,
              const data::Dataset& train_set, const data::Dataset& test_set,
              const TrainOptions& options, std::span<Observer* const> observers);

}  // namespace lockstep::train
