#include "engine/train/strategies/ddp.hpp"

#include <utility>

namespace lockstep::train {
namespace {

class DdpStrategy final : public WholeModel {
 public:
  DdpStrategy(comm::ProcessGroup& group, Replica replica, double clip_norm,
              const ddp::Options& options)
      : WholeModel(group, std::move(replica), clip_norm), ddp_(*model_, group, options) {}

  double take(std::span<const data::Batch> batches, const nn::Occasion& occasion,
              double rate) override {
    const std::int64_t sent_before = group_.traffic().bytes_sent;
    optimizer_->set_learning_rate(rate);
    double labels = 0;
    for (const data::Batch& batch : batches) labels += static_cast<double>(batch.labels.numel());
    nn::Occasion of_batch = occasion;
    double loss = 0;
    optimizer_->zero_grad();
    for (std::size_t i = 0; i < batches.size(); ++i) {
      ddp_.prepare(of_batch);
      const double share = static_cast<double>(batches[i].labels.numel()) / labels;
      if (i + 1 < batches.size()) {
        const auto alone = ddp_.no_sync();
        loss += pass(batches[i], share, [](double) {});
      } else {
        pass(batches[i], share, [&](double last) {
          ddp_.bring({(loss + last) / static_cast<double>(group_.size())});
        });
      }
      of_batch.first_sample += batches[i].inputs.size(0) * of_batch.sample_stride;
    }
    update();
    cost_ = {group_.traffic().bytes_sent - sent_before, ddp_.communication()};
    return ddp_.sums().empty() ? no_loss : ddp_.sums()[0];
  }

 private:
  // Forward and backward; `bring` gets the batch's part of the loss in between.
  template <typename Bring>
  double pass(const data::Batch& batch, double share, const Bring& bring) {
    enter(Phase::forward);
    Tape tape(GradMode::record);
    const Value logits = ddp_.forward(tape, tape.constant(batch.inputs));
    Value loss = autograd::cross_entropy(tape, logits, batch.labels);
    if (share != 1) loss = autograd::scale(tape, loss, share);
    const double part = numbers() ? loss.tensor.item() : no_loss;
    bring(part);
    enter(Phase::backward);
    tape.backward(loss);
    return part;
  }

  ddp::Ddp ddp_;  // of the model, so it goes first
};

}  // namespace

std::unique_ptr<Strategy> make_ddp(comm::ProcessGroup& group, Replica replica, double clip_norm,
                                   const ddp::Options& options) {
  return std::make_unique<DdpStrategy>(group, std::move(replica), clip_norm, options);
}

}  // namespace lockstep::train
