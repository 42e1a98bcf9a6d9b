// The common base of strategies in which every rank trains a replica of the whole model on its own
// share: position, evaluation, state. They differ in how gradients are reduced. A replica may be
// spread over several ranks, each of which runs every layer and holds a part of it. Experts that
// ranks share are reduced here, after backward, since they have fewer holders than the rest.
#pragma once

#include <filesystem>
#include <limits>
#include <memory>
#include <optional>

#include "engine/optim/master_optimizer.hpp"
#include "engine/train/layout.hpp"
#include "engine/train/strategy.hpp"

namespace lockstep::train {

// A replica and the optimizer over its parameters.
struct Replica {
  std::shared_ptr<nn::Module> model;
  std::shared_ptr<optim::Optimizer> optimizer;
  std::shared_ptr<nn::Module> weights = nullptr;  // as they are saved; none: the model's
  // The optimizer itself, where the weights are masters of the model's parameters.
  std::shared_ptr<optim::MasterOptimizer> masters = nullptr;
  // The places of the parameters where several ranks hold one replica together. None: every rank
  // holds all.
  std::optional<Layout> layout = std::nullopt;
  // The maker of their layers, which sums partial gradients. None: no gradient is partial.
  std::shared_ptr<const nn::LayerMaker> layers = nullptr;
};

// As the recipe says, on `device`; masters too.
//   Throws  CheckpointError when the recipe's first weights are of another model
Replica make_replica(const Recipe& recipe, Device& device);
// The caller's own, which must outlive the strategy.
Replica lend(nn::Module& model, optim::Optimizer& optimizer);

class WholeModel : public Strategy {
 public:
  RankPosition position() const override {
    return {Role::train, ranks_.share(), ranks_.shares(), 0};
  }
  comm::ProcessGroup& trainers() override { return ranks_.trainers(); }
  Device& device() override { return any().device(); }
  DType dtype() const override { return any().dtype(); }
  double rate() const override { return rate_; }
  Cost cost() const override { return cost_; }
  Evaluation evaluate(const data::Dataset& dataset) override;
  void end() override;
  std::vector<Piece> pieces() override;
  void restore(const checkpoint::SavedRun& saved) override;
  const optim::LossScaler* loss_scaler() const override;
  void set_phase_watch(PhaseWatch* watch) override { phases_ = watch; }

 protected:
  //   clip_norm  bound on the averaged gradient's global norm; 0: none
  WholeModel(TrainingRanks ranks, Replica replica, double clip_norm);

  const Tensor& any() const { return model_->parameters().front()->value; }
  bool numbers() const { return any().device().has_numbers(); }
  void enter(Phase phase) const {
    if (phases_ != nullptr) phases_->enter(phase);
  }
  // True if other ranks hold parts of this rank's replica.
  bool is_spread() const { return ranks_.layer() != nullptr || ranks_.experts() != nullptr; }
  // On all groups.
  std::int64_t bytes_sent() const;
  // Completes the averaged gradients, also those of experts, and clips them.
  void before_update();
  // Adds what layers did in this step to its cost: their communication, and their routers.
  void add_layers_to_cost();
  // The occasion of the k-th of a step's batches.
  nn::Occasion occasion_of(std::span<const data::Batch> batches, std::size_t k,
                           const nn::Occasion& first) const;
  // The same, and the update.
  void update();
  // The mean of a number that every replica has read: a word between hosts, wherever the model is.
  double mean_of_ranks(double mine);

  void sum_experts();

  static constexpr double no_loss = std::numeric_limits<double>::quiet_NaN();

  TrainingRanks ranks_;
  comm::ProcessGroup& group_;  // of the replicas
  std::shared_ptr<nn::Module> model_;
  std::shared_ptr<nn::Module> replicated_;  // the model, with the parameters that all replicas hold
  std::shared_ptr<optim::Optimizer> optimizer_;
  std::shared_ptr<nn::Module> weights_;  // which are saved
  std::shared_ptr<optim::MasterOptimizer> masters_;
  Layout layout_;  // of the model's parameters
  std::shared_ptr<const nn::LayerMaker> layers_;
  std::vector<Parameter*> partial_;  // along tp
  std::vector<Parameter*> experts_;  // which some of the replicas hold
  double clip_norm_;                 // 0 where the optimizer has masters, and clips itself
  double rate_;                      // of the optimizer, when it was given
  PhaseWatch* phases_ = nullptr;
  Cost cost_;
};

}  // namespace lockstep::train
