#include "engine/train/strategies/masters.hpp"

#include <utility>

#include "engine/base/error.hpp"
#include "engine/checkpoint/weights.hpp"

namespace lockstep::train {
namespace {

// The weights as they are saved: masters, and the buffers of the model, which have a type of their
// own.
class MasterWeights final : public nn::Module {
 public:
  MasterWeights(const std::vector<Parameter*>& drawn, nn::Module& model) : model_(model) {
    for (const Parameter* parameter : drawn) {
      parameter->value.relabel(MemoryKind::optimizer_state);
      masters_.push_back({parameter->name, parameter->value, {}, {}});
    }
  }
  Value forward(Tape&, const Value&) override {
    throw ContractError("master weights make no pass; the model of 16 bits does");
  }
  std::vector<Parameter*> parameters() override {
    std::vector<Parameter*> all;
    for (Parameter& master : masters_) all.push_back(&master);
    return all;
  }
  std::vector<nn::Buffer*> buffers() override { return model_.buffers(); }

 private:
  std::vector<Parameter> masters_;
  nn::Module& model_;
};

// The model, whose backward passes begin with the loss scale.
class ScaledPasses final : public nn::Module {
 public:
  ScaledPasses(std::unique_ptr<nn::Module> model, std::shared_ptr<optim::MasterOptimizer> optimizer)
      : model_(std::move(model)), optimizer_(std::move(optimizer)) {}
  Value forward(Tape& tape, const Value& input) override {
    tape.start_from(optimizer_->loss_scale());
    return model_->forward(tape, input);
  }
  void prepare(const nn::Occasion& occasion) override { model_->prepare(occasion); }
  std::vector<Parameter*> parameters() override { return model_->parameters(); }
  std::vector<nn::Buffer*> buffers() override { return model_->buffers(); }

 private:
  std::unique_ptr<nn::Module> model_;
  std::shared_ptr<optim::MasterOptimizer> optimizer_;
};

}  // namespace

std::optional<optim::LossScalerOptions> scaler_options(const Precision& precision) {
  if (!precision.loss_scale) return std::nullopt;
  optim::LossScalerOptions options{.initial_scale = precision.loss_scale->first, .least = 1};
  if (precision.loss_scale->rule == LossScale::Rule::fixed) options.rule = optim::ScaleRule::fixed;
  return options;
}

void go_on(optim::LossScaler& scaler, const checkpoint::SavedRun& saved) {
  const auto& state = saved.state().loss_scaler;
  if (state && scaler.rule() == optim::ScaleRule::dynamic) scaler.load_state(*state);
}

Replica make_replica_with_masters(const Recipe& recipe, Device& device) {
  auto model = nn::make_model(recipe.model, device, recipe.seed);
  auto weights = std::make_shared<MasterWeights>(
      nn::make_model(recipe.saved_model(), device, recipe.seed)->parameters(), *model);
  if (recipe.first_weights) checkpoint::load_weights(*recipe.first_weights, *weights);
  auto optimizer = std::make_shared<optim::MasterOptimizer>(
      optim::make_optimizer(recipe.optimizer, weights->parameters()), model->parameters(),
      optim::MasterOptions{.scaler = scaler_options(recipe.precision)});
  return {.model = std::make_shared<ScaledPasses>(std::move(model), optimizer),
          .optimizer = optimizer,
          .weights = std::move(weights),
          .masters = optimizer,
          .layers = recipe.model.layers};
}

}  // namespace lockstep::train
