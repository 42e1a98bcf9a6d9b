#include "engine/train/step.hpp"

#include <limits>

#include "engine/parallel/data_parallel/average_gradients.hpp"
#include "engine/parallel/data_parallel/data_parallel_step.hpp"
#include "engine/replicas/agree.hpp"

namespace lockstep::train {
namespace {

void enter(PhaseWatch* watch, Phase phase) {
  if (watch != nullptr) watch->enter(phase);
}

constexpr double no_loss = std::numeric_limits<double>::quiet_NaN();

class PlainStepper final : public Stepper {
 public:
  PlainStepper(comm::ProcessGroup& group, nn::Module& model, optim::Optimizer& optimizer,
               const StepOptions& options)
      : group_(group),
        model_(model),
        optimizer_(optimizer),
        clip_norm_(options.clip_norm),
        phases_(options.phases) {
    replicas::make_equal(group, model);
  }

  double take(std::span<const data::Batch> mine, const nn::Occasion& occasion) override {
    LOCKSTEP_CHECK(mine.size() == 1, "train: ", mine.size(),
                   " batches in a step of the plain way, which takes one");
    model_.prepare(occasion);
    if (!numbers()) return take_without_numbers(mine[0]);
    enter(phases_, Phase::backward);  // the part does all of a step: most of it is this
    const double my_loss =
        data_parallel::data_parallel_step(group_, model_, optimizer_, mine[0], clip_norm_);
    Device& device = model_.parameters().front()->value.device();
    const Tensor mean = full({1}, my_loss / group_.size(), DType::float64, device);
    group_.all_reduce(mean, ReduceOp::sum);
    return mean.item();
  }

  ddp::Communication communication() const override { return communication_; }

 private:
  bool numbers() const { return model_.parameters().front()->value.device().has_numbers(); }

  // The same passes, sums and update; the loss, which nobody can read, is not looked at.
  double take_without_numbers(const data::Batch& mine) {
    optimizer_.zero_grad();
    enter(phases_, Phase::forward);
    Tape tape(GradMode::record);
    const Value logits = model_.forward(tape, tape.constant(mine.inputs));
    const Value loss = autograd::cross_entropy(tape, logits, mine.labels);
    enter(phases_, Phase::backward);
    tape.backward(loss);
    const double began = group_.now_s();
    data_parallel::average_gradients(group_, model_.parameters());
    const double waited = group_.now_s() - began;
    communication_ = {waited, waited};
    enter(phases_, Phase::optimizer);
    if (clip_norm_ > 0) optim::clip_grad_norm(model_.parameters(), clip_norm_);
    optimizer_.step();
    return no_loss;
  }

  comm::ProcessGroup& group_;
  nn::Module& model_;
  optim::Optimizer& optimizer_;
  double clip_norm_;
  PhaseWatch* phases_;
  ddp::Communication communication_;
};

class DdpStepper final : public Stepper {
 public:
  DdpStepper(comm::ProcessGroup& group, nn::Module& model, optim::Optimizer& optimizer,
             const StepOptions& options)
      : ranks_(group.size()),
        model_(model, group, options.ddp),
        optimizer_(optimizer),
        clip_norm_(options.clip_norm),
        phases_(options.phases) {}

  double take(std::span<const data::Batch> mine, const nn::Occasion& occasion) override {
    double labels = 0;
    for (const data::Batch& batch : mine) labels += static_cast<double>(batch.labels.numel());
    nn::Occasion of_batch = occasion;
    double loss = 0;
    optimizer_.zero_grad();
    for (std::size_t i = 0; i < mine.size(); ++i) {
      model_.prepare(of_batch);
      const double share = static_cast<double>(mine[i].labels.numel()) / labels;
      if (i + 1 < mine.size()) {
        const auto alone = model_.no_sync();
        loss += pass(mine[i], share, [](double) {});
      } else {
        pass(mine[i], share,
             [&](double last) { model_.bring({(loss + last) / static_cast<double>(ranks_)}); });
      }
      of_batch.first_sample += mine[i].inputs.size(0) * of_batch.sample_stride;
    }
    enter(phases_, Phase::optimizer);
    if (clip_norm_ > 0) optim::clip_grad_norm(model_.parameters(), clip_norm_);
    optimizer_.step();
    return model_.sums().empty() ? no_loss : model_.sums()[0];
  }

  ddp::Communication communication() const override { return model_.communication(); }

 private:
  // Forward and backward; `tell` gets the batch's part of the loss in between.
  template <typename Tell>
  double pass(const data::Batch& batch, double share, const Tell& tell) {
    enter(phases_, Phase::forward);
    Tape tape(GradMode::record);
    const Value logits = model_.forward(tape, tape.constant(batch.inputs));
    Value loss = autograd::cross_entropy(tape, logits, batch.labels);
    if (share != 1) loss = autograd::scale(tape, loss, share);
    const double part = loss.tensor.device().has_numbers() ? loss.tensor.item() : no_loss;
    tell(part);
    enter(phases_, Phase::backward);
    tape.backward(loss);
    return part;
  }

  int ranks_;
  ddp::Ddp model_;
  optim::Optimizer& optimizer_;
  double clip_norm_;
  PhaseWatch* phases_;
};

}  // namespace

std::unique_ptr<Stepper> make_stepper(comm::ProcessGroup& group, nn::Module& model,
                                      optim::Optimizer& optimizer, std::int64_t micro_batches,
                                      const StepOptions& options) {
  if (options.reduction == Reduction::during_backward && (group.size() > 1 || micro_batches > 1)) {
    return std::make_unique<DdpStepper>(group, model, optimizer, options);
  }
  LOCKSTEP_CHECK(micro_batches == 1, "train: ", micro_batches,
                 " batches a step are added up by Reduction::during_backward only");
  return std::make_unique<PlainStepper>(group, model, optimizer, options);
}

}  // namespace lockstep::train
