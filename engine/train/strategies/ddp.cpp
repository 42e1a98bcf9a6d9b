#include "engine/train/strategies/ddp.hpp"

#include <utility>

#include "engine/collectives/communication.hpp"
#include "engine/parallel/ddp/accumulate_step.hpp"
#include "engine/train/strategies/plain.hpp"
#include "engine/train/strategies/share_state.hpp"

namespace lockstep::train {
namespace {

using Join = std::optional<ddp::JoinDivide>;

class DdpStrategy final : public WholeModel {
 public:
  DdpStrategy(TrainingRanks ranks, Replica replica, double clip_norm, ddp::Options options,
              Hooked hooked, const Join& join)
      : WholeModel(std::move(ranks), std::move(replica), clip_norm),
        hooked_(std::move(hooked)),
        ddp_(*replicated_, group_, completed(std::move(options), join)),
        join_(join) {}

  double step(std::span<const data::Batch> batches, const nn::Occasion& occasion,
              double rate) override {
    const std::int64_t sent_before = bytes_sent();
    ranks_.take_layer_communication();  // of what came between the steps
    optimizer_->set_learning_rate(rate);
    batches_ = batches;
    first_ = occasion;
    pass_ = 0;
    int live = group_.size();
    if (join_) {
      epoch_.divide = *join_;
      live = ddp::step_with_join(group_, ddp_, *optimizer_, batches, epoch_);
    } else {
      ddp::accumulate_step(ddp_, *optimizer_, batches);
    }
    double mean = ddp_.mean_loss();  // over all ranks, of which some had a loss of 0
    if (live < group_.size()) mean *= static_cast<double>(group_.size()) / live;
    cost_ = {bytes_sent() - sent_before, ddp_.communication()};
    add_layers_to_cost();
    return mean;
  }

  // The last to join has seen every update, so its optimizer's state is the right one.
  void end_epoch() override {
    if (!join_) return;
    share_state(group_, *optimizer_, ddp::end_join(group_, ddp_, epoch_));
    epoch_ = {};
  }

 private:
  // The same options with the hook that DDP starts, and with calls at the seams of a step: each
  // pass is told its occasion, the watch its phases, and gradients are clipped before the update.
  ddp::Options completed(ddp::Options options, const Join& join) {
    if (join) options.inputs = ddp::Inputs::uneven;
    if (hooked_.watch && !hooked_.hook) hooked_.hook = collectives::make_average_hook();
    if (hooked_.hook) {
      options.hook = hooked_.watch ? &hooked_.watch(*hooked_.hook) : hooked_.hook.get();
    }
    options.steps.before_forward = [this](const Value&) {
      model_->prepare(occasion_of(batches_, pass_++, first_));
      enter(Phase::forward);
    };
    options.steps.on_backward = [this] { enter(Phase::backward); };
    options.steps.before_update = [this] { before_update(); };
    return options;
  }

  Hooked hooked_;                         // outlives ddp_
  std::span<const data::Batch> batches_;  // of the step
  nn::Occasion first_;                    // of the first of them
  std::size_t pass_ = 0;                  // that comes
  ddp::Ddp ddp_;
  Join join_;
  ddp::JoinState epoch_;
};

}  // namespace

std::unique_ptr<Strategy> make_ddp(TrainingRanks ranks, Replica replica, double clip_norm,
                                   const ddp::Options& options, Hooked hooked,
                                   std::optional<ddp::JoinDivide> join) {
  return std::make_unique<DdpStrategy>(std::move(ranks), std::move(replica), clip_norm, options,
                                       std::move(hooked), join);
}

std::unique_ptr<Strategy> make_ddp_or_plain(TrainingRanks ranks, Device& device,
                                            const Recipe& recipe, DdpRun run) {
  Replica replica = make_replica(recipe, device);
  const bool alone = ranks.replicas().size() == 1;
  if (alone && run.accumulate == 1) {
    return make_plain(std::move(ranks), std::move(replica), run.clip_norm);
  }
  if (alone) run.hooked.hook.reset();
  return make_ddp(std::move(ranks), std::move(replica), run.clip_norm, run.options,
                  std::move(run.hooked), run.join);
}

}  // namespace lockstep::train
