// Plays gradient_accumulation: some steps of training on this rank's own micro-batches, with a
// model that notes which batches pass through it, and which of them wait for their backward.
#include "grader/parts/07_ddp/gradient_accumulation/case.hpp"

#include <limits>

#include "engine/parallel/ddp/accumulate_step.hpp"
#include "grader/play/ranks_play.hpp"

namespace lockstep::grader {
namespace {

class NotedPasses final : public nn::Module {
 public:
  NotedPasses(std::unique_ptr<nn::Module> model, Device& device)
      : device_(device), model_(std::move(model)) {}

  Value forward(Tape& tape, const Value& input) override {
    waiting.push_back(std::ssize(passes) - ended_);
    const std::int64_t now = device_.bytes_now(MemoryKind::activations);
    if (held.empty()) first_ = now;
    held.push_back(now - first_);
    passes.push_back(input.tensor.size(0));
    tape.watch({.begins = [](std::span<Parameter* const>) {}, .ended = [this] { ++ended_; }});
    return model_->forward(tape, input);
  }
  std::vector<Parameter*> parameters() override { return model_->parameters(); }
  void prepare(const nn::Occasion&) override { ++prepared; }

  void begin_step() {
    passes.clear();
    waiting.clear();
    held.clear();
    ended_ = 0;
  }

  std::vector<std::int64_t> passes;   // samples of each, in this step
  std::vector<std::int64_t> waiting;  // for their backward, when each began
  std::vector<std::int64_t> held;     // bytes, when each began
  std::int64_t prepared = 0;

 private:
  Device& device_;
  std::int64_t first_ = 0;  // bytes of activations when the step's first pass began
  std::int64_t ended_ = 0;  // backward passes of this step
  std::unique_ptr<nn::Module> model_;
};

double reported_by(ddp::Ddp& model) {
  try {
    return model.mean_loss();
  } catch (const ContractError&) {
    return std::numeric_limits<double>::quiet_NaN();
  }
}

AccumulationReport take_steps(comm::ProcessGroup& group, const AccumulationCase& c, Device& device,
                              Bytes& kept) {
  NotedPasses model(nn::make_mlp(c.widths, c.dtype, device, c.model_seed), device);
  const auto optimizer = make_optimizer(model, c.optimizer);
  ddp::Options options;
  options.limits = {64, 256};  // several buckets, as a model of usual size has
  ddp::Ddp wrapped(model, group, options);
  leave_gradients(model);
  AccumulationReport report;
  std::int64_t first = 0;
  for (const auto& sizes : c.steps) {
    std::vector<data::Batch> micro_batches;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      micro_batches.push_back(micro_batch_of(c, i, sizes[i], first, device));
      first += micro_batches.back().labels.numel();
    }
    model.begin_step();
    const auto state = [&] { return StepReport{report.losses, false, values_of(model)}; };
    keeping(kept, state, [&] { ddp::accumulate_step(wrapped, *optimizer, micro_batches); });
    report.losses.push_back(reported_by(wrapped));
    report.passes.push_back(model.passes);
    report.waiting.push_back(model.waiting);
    report.held.push_back(model.held);
  }
  report.prepared = model.prepared;
  report.parameters = values_of(model);
  return report;
}

}  // namespace

Bytes play(sim::PlayerCase& played) { return play_in_group<AccumulationCase>(played, take_steps); }

}  // namespace lockstep::grader
