// A strategy: a way to train. The loop (loop.hpp) reads batches, sets rates, watches and saves; how
// a step is taken, by which ranks, and who holds what is the strategy's. Each is one file of
// strategies/; which of them combine is said in choice.hpp.
//   W ranks of the world. Each is in one place: it trains, serves those that train, or stands by.
//   D shares of a global batch, d the share that a rank reads. D = W where every rank holds a whole
//   model; ranks that work on one replica together read the same share, and D is smaller.
//
// What every strategy keeps
//   1. All trainers of the run call the same functions in the same order. None of them returns a
//      value that only some know: a loss, an evaluation, an agreement is the same on each. Where
//      ranks train apart (servers), each is the only one of its trainers.
//   2. A rank holds what its place needs: model and optimizer are made from their specs, unit by
//      unit if need be (nn/units.hpp), and never in whole where a part is kept.
//   3. Equal samples, equal losses: a run differs from one rank's with the same global batch by
//      rounding only. A strategy that is meant to differ (stale gradients, compression) says how.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/checkpoint/saved_run.hpp"
#include "engine/collectives/communication.hpp"
#include "engine/comm/process_group.hpp"
#include "engine/data/dataset.hpp"
#include "engine/nn/model_spec.hpp"
#include "engine/optim/optimizer_spec.hpp"
#include "engine/train/evaluate.hpp"
#include "engine/train/observer.hpp"
#include "engine/train/phases.hpp"
#include "engine/train/pieces.hpp"

namespace lockstep::train {

enum class Role : std::uint8_t { train, serve, stand_by };

// Where a rank is in the run.
struct RankPosition {
  Role role = Role::train;
  int share = 0;   // d, of the ranks that train
  int shares = 1;  // D
  // Rank among the trainers: it tells, and writes what is saved in whole. -1: a rank that is not
  // among the trainers of this one.
  int reporter = 0;
};

// What a step of this rank cost.
struct Cost {
  std::int64_t bytes_sent = 0;                 // payload, on all groups of the strategy
  collectives::Communication communication{};  // zeros where that is not measured
  // Updates that were made between the pull and the push of this step, where there is such a thing.
  std::optional<std::int64_t> staleness = std::nullopt;
  std::optional<StageTimes> stages = std::nullopt;  // the same on every trainer
};

// What is trained, as values: a strategy makes of it what its rank holds.
struct Recipe {
  nn::ModelSpec model;
  optim::OptimizerSpec optimizer;
  std::uint64_t seed = 0;  // of the first weights
  // A file of weights to begin with, instead of drawn ones.
  std::optional<std::filesystem::path> first_weights = std::nullopt;
};

class Strategy {
 public:
  virtual ~Strategy() = default;

  virtual RankPosition position() const = 0;
  // The ranks that train, in the order of their ranks. Not called on a rank that does not.
  virtual comm::ProcessGroup& trainers() = 0;
  // On it lie the batches, and those numbers of the loop's own that must be as symbolic as they.
  virtual Device& device() = 0;
  virtual DType dtype() const = 0;  // of inputs
  // The optimizer's own learning rate: the base of what each step is given.
  virtual double rate() const = 0;

  // One optimizer step from the global batch: forward, backward, reduction, clipping, update.
  //   batches   share d, in up to K batches; every share has as many of the same sizes, unless the
  //             samples are dealt unevenly (loop.hpp). Their gradients add up, each weighed by its
  //             share of the labels
  //   occasion  of the first batch's first sample
  //   rate      of the update
  //   Returns   the mean loss over all labels of the global batch, before the update, the same on
  //             every trainer; nan where the device has no numbers
  virtual double step(std::span<const data::Batch> batches, const nn::Occasion& occasion,
                      double rate) = 0;
  // The epoch's last step, or the run's, is over: trainers agree again where uneven shares had set
  // them apart.
  virtual void end_epoch() {}
  // Of the last step.
  virtual Cost cost() const = 0;
  // No step follows: what other ranks have still on its way arrives now, so that the model is what
  // the run ends with. Called once, before the last checkpoint and evaluation.
  virtual void settle() {}
  // The model on the whole dataset, each sample exactly once (evaluate.hpp); the same on every
  // trainer. Not called where the device has no numbers.
  virtual Evaluation evaluate(const data::Dataset& dataset) = 0;
  // What a rank that serves does until the trainers end. Others are never asked.
  virtual void serve() {}
  // The last call of a trainer's run; releases those that serve. The model is then as after an
  // evaluation.
  virtual void end() = 0;
  // After end(), on the rank that reports: what a run without a common pace came to.
  virtual Asynchrony asynchrony() const { return {}; }

  // What this rank holds, as views where it lies in tensors: parameters and buffers in the model's
  // order, then the optimizer's state. May communicate among the trainers. After end() what only
  // those that serve hold is left out.
  virtual std::vector<Piece> pieces() = 0;
  // Takes over what an earlier run saved, of however many ranks: each rank that trains or serves
  // reads its pieces.
  //   Throws  CheckpointError when it is of another model or optimizer
  virtual void restore(const checkpoint::SavedRun& saved) = 0;

  // Told what the rank is doing, from now on; must outlive the steps.
  virtual void set_phase_watch(PhaseWatch* watch) = 0;
};

}  // namespace lockstep::train
