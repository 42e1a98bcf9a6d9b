// Plays join_uneven_inputs: epochs in which this rank has batches for some steps, and calls on
// until it is told that nobody has any.
#include "grader/parts/07_ddp/join_uneven_inputs/case.hpp"

#include "grader/play/ranks_play.hpp"
#include "grader/play/training.hpp"

namespace lockstep::grader {
namespace {

// A buffer that counts forward passes, each as one more than the rank that makes it.
class WithBuffer final : public nn::Module {
 public:
  WithBuffer(std::unique_ptr<nn::Module> model, int rank, std::uint8_t has_buffer, Device& device)
      : model_(std::move(model)), adds_(full({1}, rank + 1, DType::float64, device)) {
    buffer.name = "passes";
    buffer.value = zeros({1}, DType::float64, device);
    if (has_buffer != 0) buffers_.push_back(&buffer);
  }
  Value forward(Tape& tape, const Value& input) override {
    buffer.value.reduce_(adds_, ReduceOp::sum);
    return model_->forward(tape, input);
  }
  std::vector<Parameter*> parameters() override { return model_->parameters(); }
  std::vector<nn::Buffer*> buffers() override { return buffers_; }

  nn::Buffer buffer;

 private:
  std::unique_ptr<nn::Module> model_;
  Tensor adds_;
  std::vector<nn::Buffer*> buffers_;
};

JoinReport take_epochs(comm::ProcessGroup& group, const JoinCase& c, Device& device, Bytes& kept) {
  WithBuffer model(nn::make_mlp(c.widths, c.dtype, device, c.model_seed), group.rank(),
                   c.has_buffer, device);
  const auto optimizer = optim::make_sgd(model.parameters(), {.learning_rate = 0.1});
  ddp::Options options;
  options.limits = {64, 256};  // several buckets, as a model of usual size has
  options.inputs = ddp::Inputs::uneven;
  ddp::Ddp wrapped(model, group, options);
  JoinReport report;
  std::int64_t first = 0;
  for (std::size_t e = 0; e < c.steps.size(); ++e) {
    JoinedEpoch& epoch = report.epochs.emplace_back();
    ddp::JoinState state;
    state.divide = c.divide;
    for (std::int64_t round = 0; round < c.rounds.at(e); ++round) {
      std::vector<data::Batch> mine;
      for (std::int64_t k = 0; round < c.steps[e] && k < c.micro_batches; ++k) {
        mine.push_back(
            make_batch(c.inputs, c.labels, c.widths.front(), first, c.batch, c.dtype, device));
        first += c.batch;
      }
      const auto now = [&] { return JoinedBefore{report, values_of(model)}; };
      keeping(kept, now, [&] {
        epoch.live.push_back(ddp::step_with_join(group, wrapped, *optimizer, mine, state));
      });
      if (!mine.empty()) epoch.after.push_back(values_of(model));
      if (epoch.live.back() == 0) break;
    }
    epoch.last = ddp::end_join(group, wrapped, state);
    epoch.parameters = values_of(model);
    epoch.buffer = model.buffer.value.item();
  }
  return report;
}

}  // namespace

Bytes play(sim::PlayerCase& played) { return play_in_group<JoinCase>(played, take_epochs); }

}  // namespace lockstep::grader
