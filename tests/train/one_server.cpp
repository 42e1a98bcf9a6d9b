// A server with workers: the strategy with a rank that serves.
#include <array>

#include "engine/autograd/operations.hpp"
#include "tests/train/doubles.hpp"

namespace lockstep::test {
namespace {

// In place of a step's rate: the worker is done, or asks for the optimizer's state.
constexpr double over = -1, asks_for_state = -2;

class OneServer final : public train::Strategy {
 public:
  OneServer(comm::ProcessGroup& group, Device& device, const train::Recipe& recipe)
      : group_(group),
        device_(device),
        recipe_(recipe),
        workers_(group.split(serves() ? comm::ProcessGroup::no_color : 0, group.rank())),
        model_(nn::make_model(recipe.model, device, recipe.seed)),
        optimizer_(optim::make_optimizer(recipe.optimizer, model_->parameters())) {
    if (serves()) return;
    // State begins with a first step; of zeros it moves nothing.
    for (Parameter* p : model_->parameters()) {
      p->grad = zeros(p->value.shape(), recipe.model.dtype, device, MemoryKind::gradients);
    }
    optimizer_->step();
  }

  train::RankPosition position() const override {
    if (serves()) return {train::Role::serve, 0, server(), 0};
    return {train::Role::train, group_.rank(), server(), 0};
  }
  comm::ProcessGroup& trainers() override { return *workers_; }
  Device& device() override { return device_; }
  DType dtype() const override { return recipe_.model.dtype; }
  double rate() const override { return recipe_.optimizer.learning_rate(); }
  train::Cost cost() const override { return {}; }
  void set_phase_watch(train::PhaseWatch*) override {}
  void restore(const checkpoint::SavedRun& saved) override { saved.load(*model_, *optimizer_); }
  std::vector<train::Piece> pieces() override {
    std::vector<train::Piece> pieces = train::whole_pieces(*model_, *optimizer_);
    group_.send(numbers({asks_for_state, 0}), server());
    for (const train::Piece& piece : pieces) {
      if (piece.kind == train::PieceKind::optimizer_state) group_.recv(piece.value, server());
    }
    return pieces;
  }

  double step(std::span<const data::Batch> batches, const nn::Occasion& occasion,
              double rate) override {
    for (Parameter* p : model_->parameters()) p->grad = {};
    model_->prepare(occasion);
    Tape tape(GradMode::record);
    const Value logits = model_->forward(tape, tape.constant(batches[0].inputs));
    const Value loss = autograd::cross_entropy(tape, logits, batches[0].labels);
    tape.backward(loss);
    group_.send(numbers({rate, loss.tensor.item()}), server());
    for (const Parameter* p : model_->parameters()) group_.send(p->grad, server());
    for (const Parameter* p : model_->parameters()) group_.recv(p->value, server());
    const Tensor mean = numbers({0});
    group_.recv(mean, server());
    return mean.item();
  }

  train::Evaluation evaluate(const data::Dataset& dataset) override {
    return train::evaluate(*workers_, *model_, dataset);
  }
  void end() override { group_.send(numbers({over, 0}), server()); }

  // A step: the mean of all workers' gradients, in the order of ranks.
  void serve() override {
    while (true) {
      double loss = 0;
      optimizer_->zero_grad();
      for (int worker = 0; worker < server(); ++worker) {
        const Tensor head = numbers({0, 0});
        group_.recv(head, worker);
        for (; head.item(0) == asks_for_state; group_.recv(head, worker)) tell_state();
        if (head.item(0) != over) optimizer_->set_learning_rate(head.item(0));
        if (head.item(0) == over && worker + 1 == server()) return;
        if (head.item(0) == over) continue;
        loss += head.item(1) / server();
        for (Parameter* p : model_->parameters()) {
          const Tensor grad = empty(p->value.shape(), dtype(), device_);
          group_.recv(grad, worker);
          grad.scale_(1.0 / server());
          if (p->grad.defined()) p->grad.reduce_(grad, ReduceOp::sum);
          if (!p->grad.defined()) p->grad = grad;
        }
      }
      optimizer_->step();
      for (int worker = 0; worker < server(); ++worker) {
        for (const Parameter* p : model_->parameters()) group_.send(p->value, worker);
        group_.send(numbers({loss}), worker);
      }
    }
  }

 private:
  // The first worker has asked, and so do the others.
  void tell_state() {
    for (int worker = 0; worker < server(); ++worker) {
      if (worker > 0) group_.recv(numbers({0, 0}), worker);
      for (const train::Piece& piece : train::whole_pieces(*model_, *optimizer_)) {
        if (piece.kind == train::PieceKind::optimizer_state) group_.send(piece.value, worker);
      }
    }
  }

  int server() const { return group_.size() - 1; }
  bool serves() const { return group_.rank() == server(); }
  Tensor numbers(const std::vector<double>& all) const {
    return from_values(all, {std::ssize(all)}, DType::float64, device_);
  }

  comm::ProcessGroup& group_;
  Device& device_;
  train::Recipe recipe_;
  std::unique_ptr<comm::ProcessGroup> workers_;
  std::unique_ptr<nn::Module> model_;
  std::unique_ptr<optim::Optimizer> optimizer_;  // the server's steps; a worker's holds copies
};

}  // namespace

std::unique_ptr<train::Strategy> make_one_server(comm::ProcessGroup& group, Device& device,
                                                 const train::Recipe& recipe) {
  return std::make_unique<OneServer>(group, device, recipe);
}

}  // namespace lockstep::test
