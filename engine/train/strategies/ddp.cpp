#include "engine/train/strategies/ddp.hpp"

#include <functional>
#include <utility>

#include "engine/parallel/compress/mean.hpp"
#include "engine/parallel/ddp/accumulate_step.hpp"
#include "engine/train/strategies/share_state.hpp"

namespace lockstep::train {
namespace {

using Join = std::optional<ddp::JoinDivide>;

// The same options with the hook that DDP starts.
ddp::Options completed(ddp::Options options, Hooked& hooked, const Join& join) {
  if (join) options.inputs = ddp::Inputs::uneven;
  if (hooked.watch && !hooked.hook) hooked.hook = compress::make_mean_hook();
  if (hooked.hook) options.hook = hooked.watch ? &hooked.watch(*hooked.hook) : hooked.hook.get();
  return options;
}

// The model, as a part that takes the passes of a step sees it. Each pass is told its occasion, and
// the watch its phases.
class PassesOfStep final : public nn::Module {
 public:
  using Enter = std::function<void(Phase)>;
  PassesOfStep(nn::Module& model, Enter enter) : model_(model), enter_(std::move(enter)) {}

  void begin(const nn::Occasion& occasion) { next_ = occasion; }
  Value forward(Tape& tape, const Value& input) override {
    model_.prepare(next_);
    next_.first_sample += input.tensor.size(0) * next_.sample_stride;
    enter_(Phase::forward);
    tape.watch({[this](std::span<Parameter* const>) { enter_(Phase::backward); }, [] {}});
    return model_.forward(tape, input);
  }
  std::vector<Parameter*> parameters() override { return model_.parameters(); }
  std::vector<nn::Buffer*> buffers() override { return model_.buffers(); }

 private:
  nn::Module& model_;
  Enter enter_;
  nn::Occasion next_;
};

// The optimizer, whose update is the strategy's: with a phase of its own, and clipped.
class UpdatingOptimizer final : public optim::Optimizer {
 public:
  UpdatingOptimizer(optim::Optimizer& optimizer, std::function<void()> update)
      : optimizer_(optimizer), update_(std::move(update)) {}

  std::string_view kind() const override { return optimizer_.kind(); }
  void step() override { update_(); }
  void zero_grad() override { optimizer_.zero_grad(); }
  double learning_rate() const override { return optimizer_.learning_rate(); }
  void set_learning_rate(double rate) override { optimizer_.set_learning_rate(rate); }
  std::span<Parameter* const> parameters() const override { return optimizer_.parameters(); }
  std::vector<optim::StateTensor> state() const override { return optimizer_.state(); }
  void load_state(std::span<const optim::StateTensor> state) override {
    optimizer_.load_state(state);
  }

 private:
  optim::Optimizer& optimizer_;
  std::function<void()> update_;
};

class DdpStrategy final : public WholeModel {
 public:
  DdpStrategy(comm::ProcessGroup& group, Replica replica, double clip_norm,
              const ddp::Options& options, Hooked hooked, const Join& join)
      : WholeModel(group, std::move(replica), clip_norm),
        hooked_(std::move(hooked)),
        passes_(*model_, [this](Phase phase) { enter(phase); }),
        updates_(*optimizer_, [this] { update(); }),
        ddp_(passes_, group, completed(options, hooked_, join)),
        join_(join) {}

  double take(std::span<const data::Batch> batches, const nn::Occasion& occasion,
              double rate) override {
    const std::int64_t sent_before = group_.traffic().bytes_sent;
    optimizer_->set_learning_rate(rate);
    passes_.begin(occasion);
    int live = group_.size();
    if (join_) {
      epoch_.divide = *join_;
      live = ddp::step_with_join(group_, ddp_, updates_, batches, epoch_);
    } else {
      ddp::accumulate_step(ddp_, updates_, batches);
    }
    double mean = ddp_.mean_loss();  // over all ranks, of which some had a loss of 0
    if (live < group_.size()) mean *= static_cast<double>(group_.size()) / live;
    cost_ = {group_.traffic().bytes_sent - sent_before, ddp_.communication()};
    return mean;
  }

  // The last to join has seen every update, so its optimizer's state is the right one.
  void end_epoch() override {
    if (!join_) return;
    share_state(group_, *optimizer_, ddp::end_join(group_, ddp_, epoch_));
    epoch_ = {};
  }

 private:
  Hooked hooked_;  // outlives ddp_
  PassesOfStep passes_;
  UpdatingOptimizer updates_;
  ddp::Ddp ddp_;  // of the passes, so it goes first
  Join join_;
  ddp::JoinState epoch_;
};

}  // namespace

std::unique_ptr<Strategy> make_ddp(comm::ProcessGroup& group, Replica replica, double clip_norm,
                                   const ddp::Options& options, Hooked hooked,
                                   std::optional<ddp::JoinDivide> join) {
  return std::make_unique<DdpStrategy>(group, std::move(replica), clip_norm, options,
                                       std::move(hooked), join);
}

}  // namespace lockstep::train
