// The training loop: what a rank does with its strategy and the data. It is a function of values;
// the same call on every rank of the world trains one model.
//   D shares of a global batch (strategy.hpp), B samples of a batch, K batches a share and step: a
//   step's global batch is D·B·K samples
//
// The sampler deals an epoch's order out like cards, so step k reads the places
// [k·D·B·K, (k+1)·D·B·K) of that order whatever D is: runs with equal D·B·K and seed see the same
// samples and differ by rounding only. The last step of an epoch may have fewer batches, and its
// last batch fewer samples, of all shares alike. Where a run is, is therefore said in places taken,
// and another number of ranks can go on from there.
//
// Deal::uneven neither repeats samples nor drops any: in the last step of an epoch shares may have
// different numbers of samples, and some none.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "engine/data/dataset.hpp"
#include "engine/optim/scale_learning_rate.hpp"
#include "engine/optim/schedule.hpp"
#include "engine/strand/strand.hpp"
#include "engine/train/observer.hpp"
#include "engine/train/strategy.hpp"

namespace lockstep::train {

// The position of a run.
struct Position {
  std::int64_t step = 0;   // optimizer steps taken
  std::int64_t epoch = 0;  // epochs that are over
  std::int64_t taken = 0;  // places of the next epoch's order that are taken
  bool operator==(const Position&) const = default;
};

// How an epoch's order is dealt: padded with its own head until all shares have as many, or as it
// is.
enum class Deal : std::uint8_t { padded, uneven };

struct TrainOptions {
  std::int64_t batch_size = 64;  // B
  std::int64_t accumulate = 1;   // K
  std::int64_t epochs = 1;
  std::int64_t steps = 0;  // when positive, optimizer steps to take; epochs then do not count
  Deal deal = Deal::padded;
  optim::Decay decay = optim::Decay::cosine;
  std::int64_t warmup = 0;  // optimizer steps in which the rate rises to the optimizer's own
  // How the optimizer's rate, found good for updates from `base_batch` samples, follows the global
  // batch; the warm-up then begins at that rate, not near 0. Without: it is taken as it is.
  std::optional<optim::Scaling> scaling = std::nullopt;
  std::int64_t base_batch = 64;
  std::uint64_t seed = 0;      // of the order of samples (the epoch is added to it) and of dropout
  int workers = 0;             // strands that read batches ahead; 0: none
  Strands* strands = nullptr;  // on which they run, must outlive the call; none: threads of its own
  PhaseWatch* phases = nullptr;  // told what the rank is doing; must outlive the call
  // How far an earlier run came; this one goes on from there, and sees what that one would have
  // seen.
  Position start{};
  // Called on every trainer after every `save_every` steps (0: never) and after the last one; at an
  // epoch's end, after the evaluation. A checkpoint is the caller's business (save.hpp).
  std::int64_t save_every = 0;
  std::function<void(const Position& position)> save = nullptr;
  // Asked after every step, on every trainer or on none: the signal by which this rank was told to
  // stop, or 0. The trainers agree, by one number more a step: when one of them was told, all stop
  // after this step. The run then saves, and is not evaluated: who told it will not wait long.
  std::function<int()> told_to_stop = nullptr;
};

// The step with which the run ends that `options` ask for, given `samples` and D `shares`.
//   Throws  UsageError when a global batch is larger than the data
std::int64_t total_steps(const TrainOptions& options, std::int64_t samples, int shares);
// The learning rate of a step, counted from 0, of a run of `steps` and D `shares`. `base` is the
// optimizer's own rate.
double rate_at(std::int64_t step, std::int64_t steps, double base, int shares,
               const TrainOptions& options);
// The sizes of a share's batches, as far as the run comes: the last batch of an epoch may be short.
//   Throws  UsageError as total_steps
std::vector<std::int64_t> batch_sizes(const TrainOptions& options, std::int64_t samples,
                                      int shares);

// Trains, and tells the observers; the same on every rank of the world, but observers may differ.
//   Ensures    after each epoch (and at the end) every test sample was evaluated exactly once.
//              Times are those of the trainers' clock. Where the strategy's device has no numbers,
//              losses are nan, and nothing is evaluated or compared: steps have sizes and a price
//   Returns    on a rank that does not train: when the trainers are done, a summary that says
//              nothing but that no replica differs there
//   Comm       a step: the strategy's; an epoch: as evaluate and compare (pieces.hpp)
//   Throws     UsageError as total_steps; Error when the loss is not finite; NotFinite on all ranks
//              when the state is not, before it is saved or compared; CommError
Summary train(Strategy& strategy, const data::Dataset& train_set, const data::Dataset& test_set,
              const TrainOptions& options, std::span<Observer* const> observers);

}  // namespace lockstep::train
