#include "engine/train/strategies/zero.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "engine/base/error.hpp"
#include "engine/base/units.hpp"
#include "engine/checkpoint/weights.hpp"
#include "engine/replicas/clip_global_norm.hpp"
#include "engine/tensor/ops.hpp"
#include "engine/tensor/symbolic.hpp"
#include "engine/train/own_labels.hpp"
#include "engine/train/routing.hpp"
#include "engine/train/strategies/masters.hpp"
#include "engine/train/strategies/plain_shards.hpp"
#include "engine/train/strategies/sharded_state.hpp"

namespace lockstep::train {
namespace {

using zero::Reduces;
using zero::Sharding;

// A host for a device that is on this machine, or that has no numbers.
std::unique_ptr<Device> device_like(const Device& device) {
  if (device.has_numbers()) return std::make_unique<CpuDevice>();
  return std::make_unique<SymbolicDevice>();
}

class ZeroStrategy final : public Strategy {
 public:
  ZeroStrategy(TrainingRanks ranks, Device& device, const Recipe& recipe, double clip_norm,
               const ZeroOptions& options)
      : ranks_(std::move(ranks)),
        replicas_(ranks_.replicas()),
        device_(device),
        recipe_(recipe),
        options_(options),
        layout_(layout_of_weights(recipe.saved_model())),
        clip_norm_(clip_norm) {
    const int k = options.shard_ranks > 0 ? options.shard_ranks : replicas_.size();
    const int rank = replicas_.rank();
    if (options.sharding.sharding == Sharding::no_shard) {
      shards_ = replicas_.split(rank, 0);
      copies_ = replicas_.split(0, rank);
    } else if (k < replicas_.size()) {
      shards_ = replicas_.split(rank / k, rank);
      copies_ = replicas_.split(rank % k, rank);
    }
    comm::ProcessGroup& shards = shards_ ? *shards_ : replicas_;
    if (options.sharding.offload != zero::Offload::nothing) {
      if (options.host == nullptr) own_host_ = device_like(device);
      const HostMemory host = options.host != nullptr ? *options.host : HostMemory{*own_host_};
      const bool in_stream = device.numbers() == Numbers::away;
      link_ = zero::make_host_link(host, in_stream ? nullptr : options.strands, replicas_);
    }
    units_ = make_sharded_model(recipe, device, {shards, copies_.get()}, options, link_.get());
    if (const auto scaler = scaler_options(recipe.precision)) scaler_.emplace(*scaler);
    if (recipe.first_weights) {
      const checkpoint::SafetensorsFile file(*recipe.first_weights);
      check_model(file);
      fill_from(file);
    }
    if (recipe.model.layers) partial_ = layout_.summed_over_tp(units_->shards(), ranks_.sizes());
    optimizer_ = units_->make_optimizer(recipe.optimizer);
    rate_ = optimizer_->learning_rate();
  }

  RankPosition position() const override {
    return {Role::train, ranks_.share(), ranks_.shares(), 0};
  }
  comm::ProcessGroup& trainers() override { return ranks_.trainers(); }
  Device& device() override { return device_; }
  const Device* host() const override { return link_ ? &link_->host() : nullptr; }
  DType dtype() const override { return recipe_.model.dtype; }
  double rate() const override { return rate_; }
  Cost cost() const override { return cost_; }
  void set_phase_watch(PhaseWatch* watch) override { phases_ = watch; }

  double step(std::span<const data::Batch> batches, const nn::Occasion& occasion,
              double rate) override {
    const std::int64_t sent_before = bytes_sent();
    ranks_.take_layer_communication();  // of what came between the steps
    optimizer_->set_learning_rate(rate);
    units_->zero_grad();
    double labels = 0;
    for (const data::Batch& batch : batches) labels += static_cast<double>(batch.labels.numel());
    Tensor loss;
    nn::Occasion of_batch = occasion;
    for (std::size_t k = 0; k < batches.size(); ++k) {
      const bool last = k + 1 == batches.size();
      const bool reduces = last || options_.accumulate == AccumulateIn::shards;
      units_->begin(reduces ? Reduces::yes : Reduces::no);
      const double weight = static_cast<double>(batches[k].labels.numel()) / labels;
      of_batch.weight = weight;
      of_batch.loss_scale = scaler_ ? scaler_->scale() : 1;
      units_->model().prepare(of_batch);
      const Tensor mine = pass(batches[k], weight).to(DType::float64);
      if (loss.defined()) mine.reduce_(loss, ReduceOp::sum);
      loss = mine;
      of_batch.first_sample += batches[k].inputs.size(0) * of_batch.sample_stride;
    }
    enter(Phase::optimizer);
    units_->update(*optimizer_, [&] { return complete_gradients(); });
    const double mean = mean_of_ranks(loss);
    cost_ = {bytes_sent() - sent_before, units_->communication()};
    cost_.communication += ranks_.take_layer_communication();
    if (link_) cost_.host = units_->copies();
    cost_.exchange = ranks_.exchange();
    if (recipe_.model.layers) {
      cost_.routing = routing_of_step(*recipe_.model.layers, ranks_, device_);
    }
    return mean;
  }

  // As train::evaluate, but ranks that share a model make as many passes: one that has no samples
  // left takes part with a sample that does not count.
  Evaluation evaluate(const data::Dataset& dataset) override {
    LOCKSTEP_CHECK(dataset.size() > 0, "evaluate: the dataset is empty; a mean needs a sample");
    units_->begin_evaluation();
    units_->model().prepare({});
    std::array<double, 3> sums{};  // of losses, hits, labels
    const OwnLabels own(dataset, labels_of(recipe_.model));
    const std::int64_t ranks = ranks_.shares();
    const std::int64_t stride = samples_at_once(own) * ranks;
    for (std::int64_t first = 0; first < own.size(); first += stride) {
      std::vector<std::int64_t> indices;
      const std::int64_t end = std::min(own.size(), first + stride);
      for (std::int64_t i = first + ranks_.share(); i < end; i += ranks) indices.push_back(i);
      const bool counts = !indices.empty();
      if (!counts) indices.push_back(0);
      const data::Batch batch = own.batch(indices, dtype(), device_);
      Tape tape(GradMode::inference);
      const Value logits = units_->model().forward(tape, tape.constant(batch.inputs));
      if (!counts) continue;
      const Value mean = autograd::cross_entropy(tape, logits, batch.labels);
      const auto of_batch = static_cast<double>(batch.labels.numel());
      sums[0] += number_of(mean.tensor) * of_batch;
      sums[1] += static_cast<double>(ops::count_correct(logits.tensor, batch.labels));
      sums[2] += of_batch;
    }
    const Tensor all = from_values(sums, {3}, DType::float64, device_.host());
    replicas_.all_reduce(all, ReduceOp::sum);
    return {all.item(0) / all.item(2), all.item(1) / all.item(2)};
  }

  void end() override {
    optimizer_->set_learning_rate(rate_);
    units_->model().prepare({});
  }

  std::vector<Piece> pieces() override {
    const Layout owned = layout_of(units_->owned(), layout_);
    std::vector<Piece> all;
    if (units_->keeps_parameters() && !units_->keeps_masters()) {
      add_parameters(all, units_->model().parameters(), layout_);
    } else {
      add_parameters(all, units_->shards(), owned);
    }
    add_state(all, *optimizer_, owned);
    return all;
  }

  void restore(const checkpoint::SavedRun& saved) override {
    check_model(saved.weights());
    restore_state(saved, layout_of(units_->owned(), layout_), *optimizer_);
    fill_from(saved.weights());
    if (scaler_) go_on(*scaler_, saved);
  }

  const optim::LossScaler* loss_scaler() const override { return scaler_ ? &*scaler_ : nullptr; }

 private:
  void enter(Phase phase) const {
    if (phases_ != nullptr) phases_->enter(phase);
  }

  // Forward and backward; returns the batch's share of the step's loss.
  Tensor pass(const data::Batch& batch, double weight) {
    enter(Phase::forward);
    Tape tape(GradMode::record);
    const Value logits = units_->model().forward(tape, tape.constant(batch.inputs));
    const Value mean = autograd::cross_entropy(tape, logits, batch.labels);
    const Value loss = weight == 1 ? mean : autograd::scale(tape, mean, weight);
    enter(Phase::backward);
    if (scaler_) tape.start_from(scaler_->scale());
    tape.backward(loss);
    units_->end_backward();
    return loss.tensor;
  }

  // The units have made means over dp. All ranks of a layer cut what each has whole alike, so the
  // shards of what they have in parts are summed as the whole is.
  optim::Overflow complete_gradients() {
    if (recipe_.model.layers) recipe_.model.layers->sum_partial_gradients(partial_);
    const optim::Overflow overflow = unscale();
    if (overflow == optim::Overflow::no) clip();
    return overflow;
  }

  // Divides the gradients by the loss scale. A rank sees the overflow of its own shard: all take
  // the maximum of what they have seen, so that they skip a step together.
  optim::Overflow unscale() {
    if (!scaler_) return optim::Overflow::no;
    const Tensor found = scaler_->unscale(units_->gradients());
    replicas_.all_reduce(found, ReduceOp::max);
    const optim::Overflow overflow = optim::LossScaler::told_by(found);
    scaler_->update(overflow);
    return overflow;
  }

  // Copies of a shard are equal, so the norm is over the ranks that share one copy, and over those
  // that share a layer.
  void clip() {
    if (clip_norm_ <= 0) return;
    std::vector<comm::ProcessGroup*> groups{shards_ ? shards_.get() : &replicas_};
    std::vector<Tensor> mine = units_->gradients(), copies;
    if (ranks_.layer() != nullptr) {
      groups.push_back(ranks_.layer());
      mine.clear();
      for (const Parameter* shard : units_->shards()) {
        const bool counts = ranks_.counts_in_norm(layout_.of(shard->name).gradient);
        (counts ? mine : copies).push_back(shard->grad);
      }
      // A rank may own nothing, or copies alone.
      if (mine.empty()) mine.push_back(empty({0}, recipe_.saved_model().dtype, device_));
    }
    replicas::clip_global_norm(groups, {mine, copies}, clip_norm_);
  }

  double mean_of_ranks(const Tensor& loss) {
    if (!device_.has_numbers()) return std::numeric_limits<double>::quiet_NaN();
    const Tensor mean =
        full({1}, number_of(loss) / replicas_.size(), DType::float64, device_.host());
    replicas_.all_reduce(mean, ReduceOp::sum);
    return mean.item();
  }

  std::int64_t bytes_sent() const {
    return replicas_.traffic().bytes_sent + (shards_ ? shards_->traffic().bytes_sent : 0) +
           (copies_ ? copies_->traffic().bytes_sent : 0) + ranks_.bytes_sent_in_layers();
  }

  void check_model(const checkpoint::SavedTensors& file) const {
    SymbolicDevice nowhere;
    const auto model = nn::make_model(recipe_.saved_model(), nowhere, 0);
    checkpoint::check_same_model(file, *model);
  }
  // The places of the weights before they are dealt to shards.
  static Layout layout_of_weights(const nn::ModelSpec& spec) {
    SymbolicDevice nowhere;
    const auto model = nn::make_model(spec, nowhere, 0);
    const std::vector<Parameter*> parameters = model->parameters();
    return spec.layers ? Layout(parameters, *spec.layers) : Layout(parameters);
  }
  void fill_from(const checkpoint::SavedTensors& file) {
    units_->fill([&](const std::string& name, std::int64_t begin, const Tensor& into) {
      const Boxes& boxes = layout_.of(name).boxes;
      const std::int64_t held = numel_of(boxes), end = begin + into.numel();
      if (end > held) into.copy_(zeros(into.shape(), into.dtype(), into.device()));
      const Boxes range = range_of(boxes, std::min(begin, held), std::min(end, held));
      file.load_boxes(*file.find(name), range, into.view({-1}).narrow(0, numel_of(range)));
    });
  }

  TrainingRanks ranks_;
  comm::ProcessGroup& replicas_;  // of ranks_
  Device& device_;
  Recipe recipe_;
  ZeroOptions options_;
  Layout layout_;  // of the weights
  double clip_norm_;
  double rate_ = 0;                                      // of the optimizer, when it was made
  std::unique_ptr<comm::ProcessGroup> shards_, copies_;  // where they are not all ranks
  std::unique_ptr<Device> own_host_;                     // where state is offloaded, and to none
  std::unique_ptr<zero::HostLink> link_;                 // where state is offloaded
  std::unique_ptr<zero::ShardedModel> units_;
  std::vector<Parameter*> partial_;  // of their shards, along tp
  std::unique_ptr<optim::Optimizer> optimizer_;
  std::optional<optim::LossScaler> scaler_;
  PhaseWatch* phases_ = nullptr;
  Cost cost_;
};

}  // namespace

std::unique_ptr<zero::ShardedModel> make_sharded_model(const Recipe& recipe, Device& device,
                                                       zero::ShardGroups groups,
                                                       const ZeroOptions& options,
                                                       zero::HostLink* link) {
  if (!options.overlaps) {
    return make_plain_shards(recipe.model, recipe.seed, device, groups, options.sharding.sharding);
  }
  auto units =
      std::make_unique<zero::ShardedUnits>(recipe.model, recipe.seed, device, groups,
                                           with_types(options.sharding, recipe.precision), link);
  units->set_watch(options.watch);
  return units;
}

zero::ShardingOptions with_types(zero::ShardingOptions options, const Precision& precision) {
  options.weights = precision.masters;
  options.reduce = precision.reduce;
  return options;
}

void check(const ZeroOptions& options, int ranks) {
  const int k = options.shard_ranks;
  if (k == 0 || (k <= ranks && ranks % k == 0)) return;
  throw UsageError(text("--shard-ranks ", k, " does not divide --ranks ", ranks,
                        ": every copy of the state is shared by as many ranks; pass a divisor"));
}

int shard_ranks_by_node(int ranks, int ranks_per_node) {
  if (ranks_per_node == 0 || ranks_per_node >= ranks) return ranks;
  if (ranks % ranks_per_node == 0) return ranks_per_node;
  const int more = (ranks + ranks_per_node - 1) / ranks_per_node * ranks_per_node;
  throw UsageError(text("--fsdp hybrid_shard has a copy of the state on each node, but the ",
                        ranks_per_node, " ranks of a node do not divide --ranks ", ranks,
                        "; pass --ranks ", more, ", or --shard-ranks with a divisor"));
}

std::unique_ptr<Strategy> make_zero(TrainingRanks ranks, Device& device, const Recipe& recipe,
                                    double clip_norm, const ZeroOptions& options) {
  check(options, ranks.replicas().size());
  return std::make_unique<ZeroStrategy>(std::move(ranks), device, recipe, clip_norm, options);
}

}  // namespace lockstep::train
