#include "engine/train/strategies/plain.hpp"

#include <utility>

#include "engine/parallel/data_parallel/average_gradients.hpp"
#include "engine/parallel/data_parallel/data_parallel_step.hpp"
#include "engine/replicas/agree.hpp"

namespace lockstep::train {
namespace {

class Plain final : public WholeModel {
 public:
  Plain(TrainingRanks ranks, Replica replica, double clip_norm)
      : WholeModel(std::move(ranks), std::move(replica), clip_norm) {
    replicas::make_equal(group_, *replicated_);
  }

  double step(std::span<const data::Batch> batches, const nn::Occasion& occasion,
              double rate) override {
    LOCKSTEP_CHECK(batches.size() == 1, "train: ", batches.size(),
                   " batches in a step of the plain way, which takes one; ddp adds up several");
    const std::int64_t sent_before = bytes_sent();
    ranks_.take_layer_communication();  // of what came between the steps
    optimizer_->set_learning_rate(rate);
    model_->prepare(occasion_of(batches, 0, occasion));
    const bool by_part = numbers() && !is_spread();
    const double loss = by_part ? with_part(batches[0]) : by_hand(batches[0]);
    cost_.bytes_sent = bytes_sent() - sent_before;
    add_layers_to_cost();
    return loss;
  }

 private:
  double with_part(const data::Batch& mine) {
    enter(Phase::backward);  // the part does all of a step: most of it is this
    const double my_loss =
        data_parallel::data_parallel_step(group_, *model_, *optimizer_, mine, clip_norm_);
    return mean_of_ranks(my_loss);
  }

  // The same passes, sums and update, where the loss has no number, or the norm is not this rank's
  // alone.
  double by_hand(const data::Batch& mine) {
    optimizer_->zero_grad();
    enter(Phase::forward);
    Tape tape(GradMode::record);
    const Value logits = model_->forward(tape, tape.constant(mine.inputs));
    const Value loss = autograd::cross_entropy(tape, logits, mine.labels);
    enter(Phase::backward);
    tape.backward(loss);
    const double began = group_.now_s();
    data_parallel::average_gradients(group_, replicated_->parameters());
    const double waited = group_.now_s() - began;
    // On an asynchronous device, that is how long it took to ask for the sums.
    const bool seen = device().numbers() != Numbers::away;
    cost_.communication =
        seen ? collectives::Communication{waited, waited} : collectives::Communication{};
    update();
    return numbers() ? mean_of_ranks(number_of(loss.tensor)) : no_loss;
  }
};

}  // namespace

std::unique_ptr<Strategy> make_plain(TrainingRanks ranks, Replica replica, double clip_norm) {
  return std::make_unique<Plain>(std::move(ranks), std::move(replica), clip_norm);
}

}  // namespace lockstep::train
