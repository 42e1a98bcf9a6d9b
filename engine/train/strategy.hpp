// A strategy is a way to train. The loop (loop.hpp) reads batches, sets rates, watches and saves.
// The strategy decides how a step is taken, by which ranks, and which rank holds what. Each is one
// file of strategies/; which of them combine is said in choice.hpp.
//   W ranks of the world. Each is in one place: it trains, serves those that train, or stands by.
//   D shares of a global batch, d the share that a rank reads: its place on the axis dp
//   (training_ranks.hpp). D = W where every rank holds a whole model; ranks that work on one
//   replica together read the same share, and D is smaller.
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
#include "engine/optim/loss_scaler.hpp"
#include "engine/optim/optimizer_spec.hpp"
#include "engine/train/evaluate.hpp"
#include "engine/train/observer.hpp"
#include "engine/train/phases.hpp"
#include "engine/train/pieces.hpp"
#include "engine/train/precision.hpp"
#include "engine/train/training_ranks.hpp"

namespace lockstep::train {

enum class Role : std::uint8_t { train, serve, stand_by };

// The position of a rank in the run.
struct RankPosition {
  Role role = Role::train;
  int share = 0;   // d, of the ranks that train
  int shares = 1;  // D
  // The reporter's rank among the trainers. It logs and writes unsharded files. -1 if it is not
  // among the trainers of this rank.
  int reporter = 0;
};

// The cost of a step on this rank.
struct Cost {
  std::int64_t bytes_sent = 0;  // payload, on all groups of the strategy
  // The time of gradients and of collectives inside layers; zeros where that is not measured.
  collectives::Communication communication{};
  // Updates that were made between the pull and the push of this step, where there is such a thing.
  std::optional<std::int64_t> staleness = std::nullopt;
  std::optional<StageTimes> stages = std::nullopt;  // the same on every trainer
  std::optional<HostCopies> host = std::nullopt;    // where state is offloaded to the host
  collectives::Communication exchange{};  // of ranks that share experts; in `communication`, too
  std::optional<nn::Routing> routing = std::nullopt;  // of all ranks, where there are experts
};

// The model and optimizer of a run, as values. From them, a strategy makes what its rank holds.
struct Recipe {
  nn::ModelSpec model;
  optim::OptimizerSpec optimizer;
  std::uint64_t seed = 0;  // of the first weights
  // A file of weights to begin with, instead of drawn ones.
  std::optional<std::filesystem::path> first_weights = std::nullopt;
  // Types besides that of the model, which its passes have. A strategy that is made from a recipe
  // with masters saves them as its weights, and reads first weights of their type.
  Precision precision{};

  // The model of the weights.
  nn::ModelSpec saved_model() const {
    nn::ModelSpec saved = model;
    saved.dtype = precision.masters.value_or(model.dtype);
    return saved;
  }
};

class Strategy {
 public:
  virtual ~Strategy() = default;

  virtual RankPosition position() const = 0;
  // The group of the ranks that train, in the order of their ranks. Not called on a rank that does
  // not train.
  virtual comm::ProcessGroup& trainers() = 0;
  // The device of the batches, and of those numbers of the loop that must be symbolic if the
  // batches are.
  virtual Device& device() = 0;
  // The device of state that is offloaded to the host; mostly there is none.
  virtual const Device* host() const { return nullptr; }
  virtual DType dtype() const = 0;  // of inputs
  // The optimizer's own learning rate, from which the rate of each step is computed.
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
  // Called after the last step of an epoch or of the run. Trainers agree again if uneven shares had
  // set them apart.
  virtual void end_epoch() {}
  // The cost of the last step.
  virtual Cost cost() const = 0;
  // Called once when no step follows, before the last checkpoint and evaluation. What other ranks
  // still have in flight arrives now, so that the model is the one that the run ends with.
  virtual void settle() {}
  // The model on the whole dataset, each sample exactly once (evaluate.hpp); the same on every
  // trainer. Not called where the device has no numbers.
  virtual Evaluation evaluate(const data::Dataset& dataset) = 0;
  // Serves until the trainers end. Called only on ranks that serve.
  virtual void serve() {}
  // The last call of a trainer's run; releases those that serve. The model is then as after an
  // evaluation.
  virtual void end() = 0;
  // After end(), on the reporter: the figures of a run without a common pace.
  virtual Asynchrony asynchrony() const { return {}; }

  // The state that this rank holds, as views if it lies in tensors: parameters and buffers in the
  // model's order, then the optimizer's state. May communicate among the trainers. After end(),
  // state that only serving ranks hold is left out.
  virtual std::vector<Piece> pieces() = 0;
  // Restores the state that an earlier run saved, on any number of ranks. Each rank that trains or
  // serves reads its pieces.
  //   Throws  CheckpointError when it is of another model or optimizer
  virtual void restore(const checkpoint::SavedRun& saved) = 0;

  // The scale of the loss, which a checkpoint keeps; none: losses are not scaled.
  virtual const optim::LossScaler* loss_scaler() const { return nullptr; }

  // Reports the phases of each step to `watch` from now on. It must outlive the steps.
  virtual void set_phase_watch(PhaseWatch* watch) = 0;
};

}  // namespace lockstep::train
