#include <algorithm>
#include <deque>

#include "engine/tensor/ops.hpp"
#include "tests/train/doubles.hpp"

namespace lockstep::test {
namespace {

nn::UnitRange units_of(const nn::ModelSpec& spec, int stage) {
  const std::int64_t all = nn::unit_count(spec), first = all / 2;
  return stage == 0 ? nn::UnitRange{0, first} : nn::UnitRange{first, all - first};
}

class TwoStages final : public train::Strategy {
 public:
  TwoStages(comm::ProcessGroup& group, Device& device, const train::Recipe& recipe)
      : group_(group),
        device_(device),
        recipe_(recipe),
        model_(nn::make_units(recipe.model, device, recipe.seed,
                              units_of(recipe.model, group.rank()))),
        optimizer_(optim::make_optimizer(recipe.optimizer, model_->parameters())) {}

  train::RankPosition position() const override { return {train::Role::train, 0, 1, 0}; }
  comm::ProcessGroup& trainers() override { return group_; }
  Device& device() override { return device_; }
  DType dtype() const override { return recipe_.model.dtype; }
  double rate() const override { return recipe_.optimizer.learning_rate(); }
  train::Cost cost() const override { return {}; }
  void end() override {}
  void set_phase_watch(train::PhaseWatch*) override {}
  std::vector<train::Piece> pieces() override { return train::whole_pieces(*model_, *optimizer_); }
  void restore(const checkpoint::SavedRun& saved) override {
    saved.load_part(*model_, *optimizer_);
  }

  // All micro-batches forward, then all of them backward.
  double step(std::span<const data::Batch> batches, const nn::Occasion& occasion,
              double rate) override {
    optimizer_->set_learning_rate(rate);
    optimizer_->zero_grad();
    model_->prepare(occasion);
    double labels = 0, loss = 0;
    for (const data::Batch& batch : batches) labels += static_cast<double>(batch.labels.numel());
    std::deque<Tape> tapes;  // a tape does not move
    std::vector<Value> ends;
    for (const data::Batch& batch : batches) {
      Tape& tape = tapes.emplace_back(GradMode::record);
      ends.push_back(first() ? model_->forward(tape, tape.constant(batch.inputs))
                             : tape.input(between(batch)));
      first() ? group_.send(ends.back().tensor, 1) : group_.recv(ends.back().tensor, 0);
    }
    for (std::size_t i = 0; i < batches.size(); ++i) {
      if (first()) {
        const Tensor grad = between(batches[i]);
        group_.recv(grad, 1);
        tapes[i].backward(ends[i], grad);
        continue;
      }
      const double share = static_cast<double>(batches[i].labels.numel()) / labels;
      const Value logits = model_->forward(tapes[i], ends[i]);
      const Value part = autograd::scale(
          tapes[i], autograd::cross_entropy(tapes[i], logits, batches[i].labels), share);
      tapes[i].backward(part);
      loss += part.tensor.item();
      group_.send(tapes[i].gradient_of(ends[i]), 0);
    }
    optimizer_->step();
    return told_by_last({loss})[0];
  }

  train::Evaluation evaluate(const data::Dataset& dataset) override {
    std::vector<double> sums(3);  // of losses, hits, labels
    const std::int64_t at_once = train::samples_at_once(dataset);
    for (std::int64_t start = 0; start < dataset.size(); start += at_once) {
      std::vector<std::int64_t> indices;
      for (std::int64_t i = start; i < std::min(start + at_once, dataset.size()); ++i) {
        indices.push_back(i);
      }
      const data::Batch batch = dataset.batch(indices, dtype(), device_);
      Tape tape(GradMode::inference);
      if (first()) {
        group_.send(model_->forward(tape, tape.constant(batch.inputs)).tensor, 1);
        continue;
      }
      const Tensor x = between(batch);
      group_.recv(x, 0);
      const Tensor logits = model_->forward(tape, tape.constant(x)).tensor;
      const auto labels = static_cast<double>(batch.labels.numel());
      sums[0] += ops::cross_entropy(logits, batch.labels).loss.item() * labels;
      sums[1] += static_cast<double>(ops::count_correct(logits, batch.labels));
      sums[2] += labels;
    }
    sums = told_by_last(sums);
    return {sums[0] / sums[2], sums[1] / sums[2]};
  }

 private:
  bool first() const { return group_.rank() == 0; }

  // Room for what goes from stage to stage: activations, or their gradients.
  Tensor between(const data::Batch& batch) const {
    const auto cut = static_cast<std::size_t>(units_of(recipe_.model, 0).count);
    return empty({batch.inputs.size(0), recipe_.model.widths[cut]}, dtype(), device_);
  }

  std::vector<double> told_by_last(const std::vector<double>& numbers) {
    const Tensor all = from_values(numbers, {std::ssize(numbers)}, DType::float64, device_);
    group_.broadcast(all, 1);
    return {all.data<double>().begin(), all.data<double>().end()};
  }

  comm::ProcessGroup& group_;
  Device& device_;
  train::Recipe recipe_;
  std::unique_ptr<nn::Chain> model_;
  std::unique_ptr<optim::Optimizer> optimizer_;
};

}  // namespace

std::unique_ptr<train::Strategy> make_two_stages(comm::ProcessGroup& group, Device& device,
                                                 const train::Recipe& recipe) {
  return std::make_unique<TwoStages>(group, device, recipe);
}

}  // namespace lockstep::test
