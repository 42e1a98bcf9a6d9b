#include "engine/parallel/data_parallel/average_gradients.hpp"
#include "engine/train/strategies/whole_model.hpp"
#include "tests/train/doubles.hpp"

namespace lockstep::test {
namespace {

std::vector<Parameter*> owned_by(int rank, int ranks, nn::Module& model) {
  std::vector<Parameter*> owned;
  int place = 0;
  for (Parameter* p : model.parameters()) {
    if (place++ % ranks == rank) owned.push_back(p);
  }
  return owned;
}

train::Replica replica_of(comm::ProcessGroup& group, Device& device, const train::Recipe& recipe) {
  train::Replica replica{nn::make_model(recipe.model, device, recipe.seed), nullptr};
  replica.optimizer =
      optim::make_optimizer(recipe.optimizer, owned_by(group.rank(), group.size(), *replica.model));
  return replica;
}

class SharedUpdate final : public train::WholeModel {
 public:
  SharedUpdate(comm::ProcessGroup& group, Device& device, const train::Recipe& recipe,
               double clip_norm)
      : WholeModel(group, replica_of(group, device, recipe), clip_norm) {}

  double step(std::span<const data::Batch> batches, const nn::Occasion& occasion,
              double rate) override {
    const auto parameters = model_->parameters();
    for (Parameter* p : parameters) p->grad = {};
    optimizer_->set_learning_rate(rate);
    model_->prepare(occasion);
    Tape tape(GradMode::record);
    const Value logits = model_->forward(tape, tape.constant(batches[0].inputs));
    const Value loss = autograd::cross_entropy(tape, logits, batches[0].labels);
    tape.backward(loss);
    data_parallel::average_gradients(group_, parameters);
    update();
    int place = 0;
    for (const Parameter* p : parameters) group_.broadcast(p->value, place++ % group_.size());
    const Tensor mean = full({1}, loss.tensor.item() / group_.size(), DType::float64, device());
    group_.all_reduce(mean, ReduceOp::sum);
    return mean.item();
  }

  void restore(const checkpoint::SavedRun& saved) override {
    saved.load_part(*model_, *optimizer_);
  }
};

}  // namespace

std::unique_ptr<train::Strategy> make_shared_update(comm::ProcessGroup& group, Device& device,
                                                    const train::Recipe& recipe, double clip_norm) {
  return std::make_unique<SharedUpdate>(group, device, recipe, clip_norm);
}

}  // namespace lockstep::test
