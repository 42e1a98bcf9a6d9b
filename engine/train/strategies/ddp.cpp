#include "engine/train/strategies/ddp.hpp"

#include <optional>
#include <utility>

#include "engine/parallel/compress/mean.hpp"

namespace lockstep::train {
namespace {

// The same options with the hook that DDP starts.
ddp::Options with_hook(ddp::Options options, Hooked& hooked) {
  if (hooked.watch && !hooked.hook) hooked.hook = compress::make_mean_hook();
  if (hooked.hook) options.hook = hooked.watch ? &hooked.watch(*hooked.hook) : hooked.hook.get();
  return options;
}

class DdpStrategy final : public WholeModel {
 public:
  DdpStrategy(comm::ProcessGroup& group, Replica replica, double clip_norm,
              const ddp::Options& options, Hooked hooked)
      : WholeModel(group, std::move(replica), clip_norm),
        hooked_(std::move(hooked)),
        ddp_(*model_, group, with_hook(options, hooked_)) {}

  double take(std::span<const data::Batch> batches, const nn::Occasion& occasion,
              double rate) override {
    const std::int64_t sent_before = group_.traffic().bytes_sent;
    optimizer_->set_learning_rate(rate);
    double labels = 0;
    for (const data::Batch& batch : batches) labels += static_cast<double>(batch.labels.numel());
    nn::Occasion of_batch = occasion;
    double loss = 0;
    Tensor loss_away;  // where reading it would make the host wait: read after the update
    optimizer_->zero_grad();
    for (std::size_t i = 0; i < batches.size(); ++i) {
      ddp_.prepare(of_batch);
      const double share = static_cast<double>(batches[i].labels.numel()) / labels;
      const bool travels = i + 1 == batches.size();  // the gradients, and the loss with them
      std::optional<ddp::Ddp::NoSync> alone;
      if (!travels) alone.emplace(ddp_);
      pass(batches[i], share, [&](const Tensor& part) {
        if (device().numbers() == Numbers::away) {
          const Tensor wide = part.to(DType::float64);
          if (loss_away.defined()) wide.reduce_(loss_away, ReduceOp::sum);
          loss_away = wide;
          return;
        }
        loss += numbers() ? part.item() : no_loss;
        if (travels) ddp_.bring({loss / static_cast<double>(group_.size())});
      });
      of_batch.first_sample += batches[i].inputs.size(0) * of_batch.sample_stride;
    }
    update();
    const double mean = loss_away.defined()   ? mean_of_ranks(number_of(loss_away))
                        : ddp_.sums().empty() ? no_loss
                                              : ddp_.sums()[0];
    cost_ = {group_.traffic().bytes_sent - sent_before, ddp_.communication()};
    return mean;
  }

 private:
  // Forward and backward; `bring` gets the batch's part of the loss in between.
  template <typename Bring>
  void pass(const data::Batch& batch, double share, const Bring& bring) {
    enter(Phase::forward);
    Tape tape(GradMode::record);
    const Value logits = ddp_.forward(tape, tape.constant(batch.inputs));
    Value loss = autograd::cross_entropy(tape, logits, batch.labels);
    if (share != 1) loss = autograd::scale(tape, loss, share);
    bring(loss.tensor);
    enter(Phase::backward);
    tape.backward(loss);
  }

  Hooked hooked_;  // outlives ddp_
  ddp::Ddp ddp_;   // of the model, so it goes first
};

}  // namespace

std::unique_ptr<Strategy> make_ddp(comm::ProcessGroup& group, Replica replica, double clip_norm,
                                   const ddp::Options& options, Hooked hooked) {
  return std::make_unique<DdpStrategy>(group, std::move(replica), clip_norm, options,
                                       std::move(hooked));
}

}  // namespace lockstep::train
