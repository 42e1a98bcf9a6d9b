#include "engine/train/strategies/horovod.hpp"

#include <utility>

#include "engine/collectives/communication.hpp"
#include "engine/parallel/horovod/broadcast_optimizer_state.hpp"
#include "engine/replicas/agree.hpp"
#include "engine/replicas/broadcast_parameters.hpp"

namespace lockstep::train {
namespace {

struct WrappedReplica {
  Replica replica;
  horovod::DistributedOptimizer& optimizer;  // the replica's
};

// An optimizer, and the hook that its queue starts, which outlives it.
struct Watched {
  std::unique_ptr<collectives::CommHook> sum;
  std::unique_ptr<horovod::DistributedOptimizer> optimizer;
};

WrappedReplica wrap(comm::ProcessGroup& group, Replica replica,
                    std::unique_ptr<optim::Optimizer> optimizer, horovod::HorovodOptions options,
                    const WatchHook& watch) {
  replicas::make_equal(group, *replica.model);
  const auto watched = std::make_shared<Watched>();
  if (watch) {
    watched->sum = collectives::make_sum_hook();
    options.hook = &watch(*watched->sum);
  }
  watched->optimizer = horovod::make_distributed_optimizer(std::move(optimizer), group, options);
  horovod::DistributedOptimizer& known = *watched->optimizer;
  replica.optimizer = std::shared_ptr<optim::Optimizer>(watched, &known);
  return {std::move(replica), known};
}

class HorovodStrategy final : public WholeModel {
 public:
  HorovodStrategy(comm::ProcessGroup& group, WrappedReplica wrapped, double clip_norm)
      : WholeModel(group, std::move(wrapped.replica), clip_norm), wrapped_(wrapped.optimizer) {}

  double step(std::span<const data::Batch> batches, const nn::Occasion& occasion,
              double rate) override {
    const std::int64_t sent_before = group_.traffic().bytes_sent;
    const horovod::QueueFigures before = wrapped_.figures();
    optimizer_->set_learning_rate(rate);
    wrapped_.set_backward_passes_per_step(std::ssize(batches));
    double labels = 0;
    for (const data::Batch& batch : batches) labels += static_cast<double>(batch.labels.numel());
    nn::Occasion of_batch = occasion;
    Tensor loss;  // read after the update, so that the host does not wait before
    optimizer_->zero_grad();
    for (const data::Batch& batch : batches) {
      model_->prepare(of_batch);
      const Tensor part = pass(batch, static_cast<double>(batch.labels.numel()) / labels);
      const Tensor wide = part.to(DType::float64);
      if (loss.defined()) wide.reduce_(loss, ReduceOp::sum);
      loss = wide;
      of_batch.first_sample += batch.inputs.size(0) * of_batch.sample_stride;
    }
    wrapped_.synchronize();
    {
      const auto reduced_already = wrapped_.skip_synchronize();
      update();
    }
    const double mean = numbers() ? mean_of_ranks(number_of(loss)) : no_loss;
    const horovod::QueueFigures after = wrapped_.figures();
    cost_ = {group_.traffic().bytes_sent - sent_before + after.bytes_sent - before.bytes_sent};
    // On an asynchronous device, the host knows when it issued the call, not when it ran.
    if (device().numbers() != Numbers::away) {
      cost_.communication = {after.communication.total_s - before.communication.total_s,
                             after.communication.exposed_s - before.communication.exposed_s};
    }
    return mean;
  }

  // As Horovod's users do it: one rank reads, and tells the others.
  void restore(const checkpoint::SavedRun& saved) override {
    if (group_.rank() == 0) saved.load(*model_, *optimizer_);
    replicas::broadcast_parameters(group_, *model_, 0);
    horovod::broadcast_optimizer_state(group_, *optimizer_, 0);
  }

 private:
  // Forward and backward; the batch's part of the loss. The sum of the parts' gradients is the mean
  // over the step's labels, so that Horovod need not divide by the number of passes.
  Tensor pass(const data::Batch& batch, double share) {
    enter(Phase::forward);
    Tape tape(GradMode::record);
    const Value logits = model_->forward(tape, tape.constant(batch.inputs));
    Value loss = autograd::cross_entropy(tape, logits, batch.labels);
    if (share != 1) loss = autograd::scale(tape, loss, share);
    enter(Phase::backward);
    tape.backward(loss);
    return loss.tensor;
  }

  horovod::DistributedOptimizer& wrapped_;  // optimizer_
};

}  // namespace

std::unique_ptr<Strategy> make_horovod(comm::ProcessGroup& group, Device& device,
                                       const Recipe& recipe, double clip_norm,
                                       horovod::HorovodOptions options, const WatchHook& watch) {
  Replica replica = make_replica(recipe, device);
  auto optimizer = optim::make_optimizer(recipe.optimizer, replica.model->parameters());
  return std::make_unique<HorovodStrategy>(
      group, wrap(group, std::move(replica), std::move(optimizer), options, watch), clip_norm);
}

}  // namespace lockstep::train
