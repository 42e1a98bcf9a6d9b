#include "engine/train/strategies/whole_model.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "engine/checkpoint/weights.hpp"
#include "engine/replicas/agree.hpp"
#include "engine/replicas/clip_global_norm.hpp"
#include "engine/train/own_labels.hpp"
#include "engine/train/routing.hpp"
#include "engine/train/strategies/masters.hpp"

namespace lockstep::train {
namespace {

// The model, as one of some of its parameters.
class SomeParameters final : public nn::Module {
 public:
  SomeParameters(std::shared_ptr<nn::Module> model, std::vector<Parameter*> some)
      : model_(std::move(model)), some_(std::move(some)) {}
  Value forward(Tape& tape, const Value& input) override { return model_->forward(tape, input); }
  void prepare(const nn::Occasion& occasion) override { model_->prepare(occasion); }
  std::vector<Parameter*> parameters() override { return some_; }
  std::vector<nn::Buffer*> buffers() override { return model_->buffers(); }

 private:
  std::shared_ptr<nn::Module> model_;
  std::vector<Parameter*> some_;
};

}  // namespace

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
    if (replica.layout->of_experts(parameters).empty()) {
      checkpoint::check_same_model(file, *replica.model);
    } else {
      checkpoint::check_part_of_model(file, *replica.model);
    }
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
      replicated_(model_),
      optimizer_(std::move(replica.optimizer)),
      weights_(replica.weights ? std::move(replica.weights) : model_),
      masters_(std::move(replica.masters)),
      layout_(replica.layout ? *std::move(replica.layout) : Layout(model_->parameters())),
      layers_(std::move(replica.layers)),
      clip_norm_(clip_norm),
      rate_(optimizer_->learning_rate()) {
  const std::vector<Parameter*> parameters = model_->parameters();
  if (layers_) partial_ = layout_.summed_over_tp(parameters, ranks_.sizes());
  experts_ = layout_.of_experts(parameters);
  if (!experts_.empty()) {
    std::vector<Parameter*> dense;
    std::ranges::copy_if(parameters, std::back_inserter(dense), [&](Parameter* parameter) {
      return std::ranges::find(experts_, parameter) == experts_.end();
    });
    replicated_ = std::make_shared<SomeParameters>(model_, std::move(dense));
    SomeParameters experts(model_, experts_);
    replicas::make_equal(ranks_.holders(), experts);
  }
  if (!masters_) return;
  replicas::make_equal(group_, *weights_);
  masters_->round();
  masters_->set_clip_norm(std::exchange(clip_norm_, 0));
}

Evaluation WholeModel::evaluate(const data::Dataset& dataset) {
  if (ranks_.sequence() == nullptr) return train::evaluate(ranks_.readers(), *model_, dataset);
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
  if (!experts_.empty()) {
    checkpoint::check_part_of_model(saved.weights(), *weights_);
    restore_state(saved, layout_, *optimizer_);
    read_weights(saved.weights(), layout_, *weights_);
  } else if (layout_.is_whole()) {
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

// They are summed over those that hold them, and divided by all ranks whose samples they computed.
void WholeModel::sum_experts() {
  std::vector<mesh::GradientKind> kinds;
  for (const Parameter* expert : experts_) kinds.push_back(layout_.of(expert->name).gradient);
  for (const auto& sum : mesh::reduce_gradients_3d(ranks_.sizes(), kinds, mesh::MicroBatch::last)) {
    const Tensor& grad = experts_[sum.gradient]->grad;
    if (ranks_.holders().size() > 1) ranks_.holders().all_reduce(grad, ReduceOp::sum);
    grad.scale_(sum.factor);
  }
}

void WholeModel::before_update() {
  enter(Phase::optimizer);
  sum_experts();
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
  for (comm::ProcessGroup* const along : {ranks_.layer(), ranks_.experts()}) {
    if (along != nullptr) groups.push_back(along);
  }
  replicas::clip_global_norm(groups, {counted, copies}, clip_norm_);
}

std::int64_t WholeModel::bytes_sent() const {
  const std::int64_t of_experts = experts_.empty() ? 0 : ranks_.holders().traffic().bytes_sent;
  return group_.traffic().bytes_sent + of_experts + ranks_.bytes_sent_in_layers();
}

void WholeModel::add_layers_to_cost() {
  cost_.communication += ranks_.take_layer_communication();
  cost_.exchange = ranks_.exchange();
  if (layers_) cost_.routing = routing_of_step(*layers_, ranks_, device());
}

nn::Occasion WholeModel::occasion_of(std::span<const data::Batch> batches, std::size_t k,
                                     const nn::Occasion& first) const {
  nn::Occasion next = first;
  std::int64_t before = 0, labels = 0;
  for (std::size_t i = 0; i < batches.size(); ++i) {
    if (i < k) before += batches[i].inputs.size(0);
    labels += batches[i].labels.numel();
  }
  next.first_sample += before * first.sample_stride;
  if (k < batches.size()) {
    next.weight = static_cast<double>(batches[k].labels.numel()) / static_cast<double>(labels);
  }
  if (masters_) next.loss_scale = masters_->loss_scale();
  return next;
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
