// A step: the plan of one batch after the other is carried out, and gradients add up. The last pass
// of a chunk hands its gradients to the reducer, while the stage goes on with others. Then what two
// stages share is summed between them, and each stage updates what it holds.
#include "engine/train/strategies/pipeline.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>
#include <vector>

#include "engine/base/error.hpp"
#include "engine/checkpoint/weights.hpp"
#include "engine/collectives/communication.hpp"
#include "engine/parallel/pipeline/model_stage.hpp"
#include "engine/replicas/clip_global_norm.hpp"
#include "engine/train/own_labels.hpp"
#include "engine/train/routing.hpp"
#include "engine/train/strategies/naive_pass.hpp"
#include "engine/train/strategies/stage_reducers.hpp"
#include "engine/train/strategies/stage_shards.hpp"

namespace lockstep::train {
namespace {

using pipeline::Action;
using pipeline::Plan;

// Rows of a batch that pass through the model together: as even as they come, the larger first.
std::vector<data::Batch> micro_batches_of(const data::Batch& batch, int count) {
  const std::int64_t rows = batch.inputs.size(0);
  std::vector<data::Batch> all;
  for (std::int64_t i = 0, first = 0; i < count; ++i) {
    const std::int64_t size = rows / count + (i < rows % count ? 1 : 0);
    all.push_back({batch.inputs.narrow(first, size), batch.labels.narrow(first, size)});
    first += size;
  }
  return all;
}

class Pipeline final : public Strategy {
 public:
  Pipeline(TrainingRanks ranks, Device& device, const Recipe& recipe, double clip_norm,
           const PipelineOptions& options)
      : ranks_(std::move(ranks)),
        world_(ranks_.trainers()),
        device_(device),
        dtype_(recipe.model.dtype),
        options_(options),
        stages_(ranks_.along({mesh::Axis::pp})),
        shares_(ranks_.replicas()),
        stage_(recipe.model, {stages_->rank(), options.stages, options.chunks}, device,
               recipe.seed),
        parameters_(stage_.module().parameters()),
        clip_norm_(clip_norm),
        sum_(collectives::make_sum_hook()),
        timed_(collectives::make_timed_hook(*sum_, communication_)) {
    lay_out(recipe.model);
    if (recipe.first_weights) {
      const checkpoint::SafetensorsFile file(*recipe.first_weights);
      checkpoint::check_part_of_model(file, stage_.module());
      read_weights(file, layout_, stage_.module());
    }
    if (options.state == StageState::sharded) {
      sharded_.emplace(ranks_, parameters_, layout_, dtype_, device);
    }
    optimizer_ =
        optim::make_optimizer(recipe.optimizer, sharded_ ? sharded_->shards() : parameters_);
    rate_ = optimizer_->learning_rate();
    if (shares_.size() > 1 && !sharded_) {
      reducers_.emplace(ranks_, parameters_, layout_, options.limits, *timed_);
    }
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      parameters_[i]->hooks.emplace_back([this, i](Parameter&) { on_gradient(i); });
    }
    stage_.tell([this](const Action* action) { enter(action); });
  }

  RankPosition position() const override {
    return {Role::train, ranks_.share(), ranks_.shares(), 0};
  }
  comm::ProcessGroup& trainers() override { return world_; }
  Device& device() override { return device_; }
  DType dtype() const override { return dtype_; }
  double rate() const override { return rate_; }

  double step(std::span<const data::Batch> batches, const nn::Occasion& occasion,
              double rate) override {
    const std::int64_t sent_before = bytes_sent();
    communication_ = {};
    ranks_.take_layer_communication();  // of what came between the steps
    busy_s_ = span_s_ = 0;
    optimizer_->set_learning_rate(rate);
    zero_grad();
    double labels = 0;
    std::vector<std::vector<data::Batch>> micro_batches;
    passes_ = 0;
    for (const data::Batch& batch : batches) {
      labels += static_cast<double>(batch.labels.numel());
      const auto most = std::min<std::int64_t>(options_.micro_batches, batch.inputs.size(0));
      micro_batches.push_back(micro_batches_of(batch, static_cast<int>(most)));
      passes_ += most;
    }
    came_.assign(parameters_.size(), 0);
    Tensor loss;
    nn::Occasion of_batch = occasion;
    for (std::size_t k = 0; k < batches.size(); ++k) {
      std::vector<double> weights;
      for (const data::Batch& part : micro_batches[k]) {
        weights.push_back(static_cast<double>(part.labels.numel()) / labels);
      }
      stage_.begin(micro_batches[k], of_batch, weights);
      const double began_s = stages_->now_s();
      const auto result =
          options_.naive ? run_naive(*stages_, stage_, weights.front())
                         : pipeline::run_stage(*stages_, stage_,
                                               plan_for(static_cast<int>(weights.size())), weights);
      span_s_ += stages_->now_s() - began_s;
      if (result.loss.defined()) {
        const Tensor wide = result.loss.to(DType::float64);
        if (loss.defined()) wide.reduce_(loss, ReduceOp::sum);
        loss = wide;
      }
      of_batch.first_sample += batches[k].inputs.size(0) * of_batch.sample_stride;
    }
    if (reducers_) reducers_->finalize();
    sum_partial();
    if (sharded_) sharded_->end_backward();
    if (phases_ != nullptr) phases_->enter(Phase::optimizer);
    clip();
    optimizer_->step();
    if (sharded_) {
      sharded_->end_update();
      communication_ += sharded_->communication();
    }
    communication_ += ranks_.take_layer_communication();
    const StageReport told = tell_each_other(loss);
    cost_ = {bytes_sent() - sent_before, communication_, std::nullopt, told.stages};
    cost_.exchange = ranks_.exchange();
    if (layers_) cost_.routing = routing_of_step(*layers_, ranks_, device_);
    return told.loss;
  }

  Cost cost() const override { return cost_; }

  Evaluation evaluate(const data::Dataset& dataset) override {
    LOCKSTEP_CHECK(dataset.size() > 0, "evaluate: the dataset is empty; a mean needs a sample");
    std::array<double, 3> sums{};  // of losses, hits, labels
    // Ranks that share experts compute the same samples, so that they make as many passes.
    const std::int64_t stride = ranks_.sizes().dp;
    const OwnLabels own(dataset, layers_ ? layers_->labels() : nn::TokenShare{});
    const std::int64_t at_once = samples_at_once(own) * stride;
    std::int64_t first = ranks_.at().dp;
    while (first < own.size()) {
      std::vector<data::Batch> batches;
      std::vector<double> weights;
      for (int k = 0; k < 2 * options_.stages && first < own.size(); ++k, first += at_once) {
        std::vector<std::int64_t> indices;
        const std::int64_t end = std::min(own.size(), first + at_once);
        for (std::int64_t i = first; i < end; i += stride) indices.push_back(i);
        batches.push_back(own.batch(indices, dtype_, device_));
        weights.push_back(static_cast<double>(batches.back().labels.numel()));
      }
      stage_.begin(batches, {.mode = nn::Mode::evaluation});
      const Plan plan = plan_of_evaluation(options_, static_cast<int>(batches.size()));
      const auto result = pipeline::run_stage(*stages_, stage_, plan, weights);
      if (!result.loss.defined()) continue;
      sums[0] += number_of(result.loss);
      sums[1] += static_cast<double>(stage_.hits());
      for (const double weight : weights) sums[2] += weight;
    }
    const Tensor all = from_values(sums, {3}, DType::float64, device_.host());
    world_.all_reduce(all, ReduceOp::sum);
    return {all.item(0) / all.item(2), all.item(1) / all.item(2)};
  }

  void end() override {
    optimizer_->set_learning_rate(rate_);
    stage_.module().prepare({});
  }
  std::vector<Piece> pieces() override {
    if (!sharded_) return pieces_of(layout_, stage_.module(), *optimizer_);
    std::vector<Piece> all;
    add_parameters(all, parameters_, layout_);
    add_state(all, *optimizer_, sharded_->owned());
    return all;
  }
  void restore(const checkpoint::SavedRun& saved) override {
    checkpoint::check_part_of_model(saved.weights(), stage_.module());
    restore_state(saved, sharded_ ? sharded_->owned() : layout_, *optimizer_);
    read_weights(saved.weights(), layout_, stage_.module());
  }
  void set_phase_watch(PhaseWatch* watch) override { phases_ = watch; }

 private:
  bool is_last() const { return stages_->rank() == options_.stages - 1; }

  const Plan& plan_for(int micro_batches) {
    if (plan_.micro_batches != micro_batches || plan_.actions.empty()) {
      plan_ = plan_of_batch(options_, micro_batches);
    }
    return plan_;
  }

  // The places of the parameters. Some are held by the first and by the last stage, each of which
  // has a part of their gradient; these two get a group.
  void lay_out(const nn::ModelSpec& spec) {
    const nn::UnitRange first = stage_.cuts().front(), last = stage_.cuts().back();
    const auto names = options_.stages == 1 ? std::vector<std::string>{}
                                            : pipeline::shared_names(spec, first, last);
    std::vector<ParameterPlace> places =
        (spec.layers ? Layout(parameters_, *spec.layers) : Layout(parameters_)).places();
    for (ParameterPlace& place : places) {
      if (std::ranges::find(names, place.name) == names.end()) continue;
      place.gradient.copies.add(mesh::Axis::pp);
      place.gradient.partial.add(mesh::Axis::pp);
    }
    layout_ = Layout(std::move(places));
    layers_ = spec.layers;
    if (layers_) partial_ = layout_.summed_over_tp(parameters_, ranks_.sizes());
    if (names.empty()) return;
    const bool holds = stages_->rank() == 0 || is_last();
    tied_ = stages_->split(holds ? 0 : comm::ProcessGroup::no_color, stages_->rank());
  }

  const mesh::GradientKind& gradient(std::size_t index) const {
    return layout_.places()[index].gradient;
  }

  // The reducer makes means over dp; what stages, or the ranks of a layer, have in parts is summed.
  void sum_partial() {
    for (const auto& sum :
         mesh::reduce_gradients_3d(ranks_.sizes(), layout_.gradients(), mesh::MicroBatch::last)) {
      const Tensor& grad = parameters_[sum.gradient]->grad;
      if (sum.over.has(mesh::Axis::pp)) tied_->all_reduce(grad, ReduceOp::sum);
    }
    if (layers_) layers_->sum_partial_gradients(partial_);
  }

  void zero_grad() {
    if (!sharded_) return optimizer_->zero_grad();
    sharded_->zero_grad();
  }

  // A micro-batch's gradient is in; after the step's last one it is complete.
  void on_gradient(std::size_t index) {
    if (++came_[index] == passes_ && reducers_) reducers_->on_gradient_ready(index);
  }

  // The norm is over all stages; what two of them hold counts once.
  void clip() {
    if (clip_norm_ <= 0) return;
    const auto counts = [&](std::size_t i) { return ranks_.counts_in_norm(gradient(i)); };
    std::vector<Tensor> mine, copies;
    if (sharded_) sharded_->add_gradients(mine, copies);
    for (std::size_t i = 0; i < parameters_.size() && !sharded_; ++i) {
      (counts(i) ? mine : copies).push_back(parameters_[i]->grad);
    }
    // A stage of a norm and a shared table counts nothing on all ranks of a layer but the first.
    if (mine.empty()) mine.push_back(parameters_.front()->value.empty_like(0));
    std::vector<comm::ProcessGroup*> groups{stages_.get()};
    // Ranks that share experts are among those that share the state.
    comm::ProcessGroup* const holders = sharded_ ? &shares_ : ranks_.experts();
    for (comm::ProcessGroup* const along : {ranks_.layer(), holders}) {
      if (along != nullptr) groups.push_back(along);
    }
    replicas::clip_global_norm(groups, {mine, copies}, clip_norm_);
  }

  // The parts of a step's result that only some ranks know and all need: only the last stages know
  // a loss, and only the slowest stage knows how long it took.
  struct StageReport {
    double loss;
    std::optional<StageTimes> stages;  // none of devices that run behind the host
  };
  StageReport tell_each_other(const Tensor& loss) {
    const int replicas = world_.size() / options_.stages;  // of the last stage
    double mine = 0;
    if (loss.defined()) {
      mine = device_.has_numbers() ? number_of(loss) / replicas
                                   : std::numeric_limits<double>::quiet_NaN();
    }
    const Tensor words =
        from_values(std::array{mine, busy_s_, span_s_}, {3}, DType::float64, host_);
    const Tensor all = empty({3 * world_.size()}, DType::float64, host_);
    world_.all_gather(words, all);
    StageReport told{};
    StageTimes times;
    double longest_s = 0;
    for (std::int64_t rank = 0; rank < world_.size(); ++rank) {
      told.loss += all.item(3 * rank);
      times.busy_s += all.item(3 * rank + 1);
      longest_s = std::max(longest_s, all.item(3 * rank + 2));
    }
    times.span_s = longest_s * world_.size();
    if (device_.numbers() != Numbers::away) told.stages = times;
    return told;
  }

  std::int64_t bytes_sent() const {
    const bool one_stage = &shares_ == &world_;
    return world_.traffic().bytes_sent + stages_->traffic().bytes_sent +
           (one_stage ? 0 : shares_.traffic().bytes_sent) + ranks_.bytes_sent_in_layers() +
           (tied_ ? tied_->traffic().bytes_sent : 0) +
           (reducers_ ? reducers_->bytes_sent_for_experts() : 0) +
           (sharded_ ? sharded_->bytes_sent_for_experts() : 0);
  }

  void enter(const Action* action) {
    const double now_s = stages_->now_s();
    if (action == nullptr) busy_s_ += now_s - began_s_;
    began_s_ = now_s;
    if (phases_ == nullptr) return;
    phases_->enter(action == nullptr                                 ? Phase::other
                   : action->pass == pipeline::Pass::forward         ? Phase::forward
                   : action->pass == pipeline::Pass::weight_gradient ? Phase::weight_gradient
                                                                     : Phase::backward);
  }

  TrainingRanks ranks_;
  comm::ProcessGroup& world_;  // of ranks_
  Device& device_;
  DType dtype_;
  PipelineOptions options_;
  std::unique_ptr<comm::ProcessGroup> stages_;  // of this pipeline
  comm::ProcessGroup& shares_;                  // that hold the same stage
  std::unique_ptr<comm::ProcessGroup> tied_;    // first and last stage, where they share
  pipeline::ModelStage stage_;
  std::vector<Parameter*> parameters_;
  Layout layout_;  // of parameters_
  std::shared_ptr<const nn::LayerMaker> layers_;
  std::vector<Parameter*> partial_;     // of parameters_, along tp
  std::optional<StageShards> sharded_;  // of parameters_, where the state is sharded
  std::unique_ptr<optim::Optimizer> optimizer_;
  double clip_norm_;
  double rate_ = 0;  // of the optimizer, when it was made
  collectives::Communication communication_;
  std::unique_ptr<collectives::CommHook> sum_, timed_;
  std::optional<StageReducers> reducers_;  // where there are several pipelines
  Plan plan_;
  std::int64_t passes_ = 0;         // micro-batches of the step
  std::vector<std::int64_t> came_;  // of these, that a parameter has had
  CpuDevice host_;                  // of words between ranks; device_ may have no numbers
  double began_s_ = 0;              // the pass that runs
  double busy_s_ = 0, span_s_ = 0;  // of the step
  PhaseWatch* phases_ = nullptr;
  Cost cost_;
};

}  // namespace

std::unique_ptr<Strategy> make_pipeline(TrainingRanks ranks, Device& device, const Recipe& recipe,
                                        double clip_norm, const PipelineOptions& options) {
  LOCKSTEP_CHECK(ranks.sizes().pp == options.stages, "make_pipeline: ", options.stages,
                 " stages on ", ranks.sizes().pp, " ranks of the axis pp; give both one size");
  return std::make_unique<Pipeline>(std::move(ranks), device, recipe, clip_norm, options);
}

}  // namespace lockstep::train
