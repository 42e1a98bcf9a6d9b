// A way to train that only a test has, in one file: local SGD. Every rank updates its own replica,
// and after every K steps the replicas become their mean.
#include "engine/train/strategies/whole_model.hpp"
#include "engine/train/way.hpp"
#include "engine/train/way_maker.hpp"

namespace lockstep::train {
namespace {

class LocalSgd final : public WholeModel {
 public:
  LocalSgd(comm::ProcessGroup& group, Replica replica, double clip_norm, std::int64_t every)
      : WholeModel(group, std::move(replica), clip_norm), every_(every) {}

  double step(std::span<const data::Batch> batches, const nn::Occasion& occasion,
              double rate) override {
    optimizer_->set_learning_rate(rate);
    optimizer_->zero_grad();
    model_->prepare(occasion);
    Tape tape(GradMode::record);
    const Value logits = model_->forward(tape, tape.constant(batches[0].inputs));
    const Value loss = autograd::cross_entropy(tape, logits, batches[0].labels);
    tape.backward(loss);
    update();
    if (++taken_ % every_ == 0) average();
    return mean_of_ranks(loss.tensor.item());
  }
  void end_epoch() override { average(); }

 private:
  void average() {
    for (Parameter* parameter : model_->parameters()) {
      group_.all_reduce(parameter->value, ReduceOp::average);
    }
  }

  std::int64_t every_, taken_ = 0;
};

class LocalSgdMaker final : public WayMaker {
 public:
  std::unique_ptr<Strategy> make(Making& making) const override {
    return std::make_unique<LocalSgd>(making.group, make_replica(making.recipe, making.device),
                                      making.clip_norm,
                                      making.arguments.integer("average-every", 1));
  }
  std::string_view reduction() const override { return "between steps"; }
};

}  // namespace

Way local_sgd_way();
Way local_sgd_way() {
  return {.stem = "local_sgd",
          .name = "local SGD",
          .slot = Slot::reduction,
          .option = "average-every",
          .declare =
              [](Options& options) {
                options.section("local SGD")
                    .option("average-every", "0", "steps between means of the replicas");
              },
          .refuses = {{"compression", "packs gradients, which local SGD does not send"}}};
}

const WayMaker& local_sgd_maker();
const WayMaker& local_sgd_maker() {
  static const LocalSgdMaker maker;
  return maker;
}

}  // namespace lockstep::train
