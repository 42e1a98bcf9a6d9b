#include "engine/train/strategies/whole_model.hpp"

#include <utility>

#include "engine/checkpoint/weights.hpp"
#include "engine/replicas/agree.hpp"
#include "engine/replicas/clip_global_norm.hpp"
#include "engine/train/own_labels.hpp"
#include "engine/train/strategies/masters.hpp"

namespace lockstep::train {

Replica make_replica(const Recipe& recipe, Device& device) {
  if (recipe.precision.masters) return make_replica_with_masters(recipe, device);
  Replica replica;
  replica.model = nn::make_model(recipe.model, device, recipe.seed);
  const std::vector<Parameter*> parameters = replica.model->parameters();
  replica.layout =
      recipe.model.layers ? Layout(parameters, *recipe.model.layers) : Layout(parameters);
  replica.layers = recipe.model.layers;
  if (recipe.first_weights) {
    const checkpoint::SafetensorsFile file(*recipe.first_weights);
    checkpoint::check_same_model(file, *replica.model);
    read_weights(file, *replica.layout, *replica.model);
  }
  replica.optimizer = optim::make_optimizer(recipe.optimizer, parameters);
  return replica;
}

Replica lend(nn::Module& model, optim::Optimizer& optimizer) {
  // Share ownership of nothing: pointers that delete nothing.
  const std::shared_ptr<void> nobody;
  return {std::shared_ptr<nn::Module>(nobody, &model),
          std::shared_ptr<optim::Optimizer>(nobody, &optimizer)};
}

WholeModel::WholeModel(TrainingRanks ranks, Replica replica, double clip_norm)
    : ranks_(std::move(ranks)),
      group_(ranks_.replicas()),
      model_(std::move(replica.model)),
      optimizer_(std::move(replica.optimizer)),
      weights_(replica.weights ? std::move(replica.weights) : model_),
      masters_(std::move(replica.masters)),
      layout_(replica.layout ? *std::move(replica.layout) : Layout(model_->parameters())),
      layers_(std::move(replica.layers)),
      clip_norm_(clip_norm),
      rate_(optimizer_->learning_rate()) {
  if (layers_) partial_ = layout_.summed_over_tp(model_->parameters(), ranks_.sizes());
  if (!masters_) return;
  replicas::make_equal(group_, *weights_);
  masters_->round();
  masters_->set_clip_norm(std::exchange(clip_norm_, 0));
}

Evaluation WholeModel::evaluate(const data::Dataset& dataset) {
  if (ranks_.sequence() == nullptr) return train::evaluate(group_, *model_, dataset);
  const OwnLabels own(dataset, layers_->labels());
  return of_all_tokens(*ranks_.sequence(), own, train::evaluate(ranks_.readers(), *model_, own),
                       device().host());
}

void WholeModel::end() {
  optimizer_->set_learning_rate(rate_);
  model_->prepare({});
}

std::vector<Piece> WholeModel::pieces() { return pieces_of(layout_, *weights_, *optimizer_); }

void WholeModel::restore(const checkpoint::SavedRun& saved) {
  if (layout_.is_whole()) {
    saved.load(*weights_, *optimizer_);
  } else {
    train::restore(saved, layout_, *weights_, *optimizer_);
  }
  if (!masters_) return;
  masters_->round();
  if (masters_->scaler()) go_on(*masters_->scaler(), saved);
}

const optim::LossScaler* WholeModel::loss_scaler() const {
  return masters_ && masters_->scaler() ? &*masters_->scaler() : nullptr;
}

void WholeModel::before_update() {
  enter(Phase::optimizer);
  const std::vector<Parameter*> parameters = model_->parameters();
  // Means over dp are made already. What is left are sums over the ranks of the replica.
  if (layers_) layers_->sum_partial_gradients(partial_);
  if (clip_norm_ <= 0) return;
  std::vector<Tensor> counted, copies;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const bool mine = ranks_.counts_in_norm(layout_.places()[i].gradient);
    (mine ? counted : copies).push_back(parameters[i]->grad);
  }
  if (counted.empty()) counted.push_back(any().view({-1}).narrow(0, 0));  // of copies alone
  std::vector<comm::ProcessGroup*> groups;
  if (comm::ProcessGroup* const layer = ranks_.layer()) groups.push_back(layer);
  replicas::clip_global_norm(groups, {counted, copies}, clip_norm_);
}

std::int64_t WholeModel::bytes_sent() const {
  return group_.traffic().bytes_sent + ranks_.bytes_sent_in_layers();
}

void WholeModel::update() {
  before_update();
  optimizer_->step();
}

double WholeModel::mean_of_ranks(double mine) {
  const Tensor mean = full({1}, mine / group_.size(), DType::float64, device().host());
  group_.all_reduce(mean, ReduceOp::sum);
  return mean.item();
}

}  // namespace lockstep::train
