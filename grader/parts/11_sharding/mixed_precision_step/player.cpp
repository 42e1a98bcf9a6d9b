// Plays mixed_precision_step: some steps of one rank, whose backward passes are the judge's.
#include "grader/parts/11_sharding/mixed_precision_step/case.hpp"
#include "grader/play/ranks_play.hpp"

namespace lockstep::grader {
namespace {

class Mixed {
 public:
  Mixed(const MixedCase& c, Device& device) {
    const auto elements = static_cast<std::int64_t>(c.parameters.size() / bytes_of(c.dtype));
    const auto own = static_cast<std::int64_t>(c.master.size() / sizeof(float));
    master_.name = "master";
    master_.value = empty({own}, DType::float32, device, MemoryKind::parameters);
    write_bytes(master_.value, c.master);
    parameters_ = empty({elements}, c.dtype, device, MemoryKind::parameters);
    write_bytes(parameters_, c.parameters);
    optimizer_ = make_rule(c.rule, c.rate, master_);
    state.parameters = parameters_;
    state.gradients = empty({elements}, c.dtype, device, MemoryKind::gradients);
    state.master = &master_;
    state.optimizer = optimizer_.get();
    state.scale = {static_cast<float>(c.scale), c.good_steps, c.interval};
  }

  // The report is of the tensors that were handed over: the passes know no others.
  MixedStep after(zero::StepEnd end) const {
    MixedStep step{end, state.scale.value, state.scale.good_steps, copy_of(master_.value),
                   copy_of(parameters_)};
    for (const optim::StateTensor& one : optimizer_->state()) {
      step.state.push_back(copy_of(one.value));
    }
    return step;
  }

  zero::MixedPrecision state;

 private:
  Parameter master_;
  Tensor parameters_;
  std::unique_ptr<optim::Optimizer> optimizer_;
};

}  // namespace

Bytes play(sim::PlayerCase& played) {
  const auto take_steps = [&](comm::ProcessGroup& group, const MixedCase& c, Device& device,
                              Bytes& kept) {
    Mixed mixed(c, device);
    const Tensor gradients = mixed.state.gradients;
    MixedReport report;
    for (std::uint32_t step = 0; step < c.steps; ++step) {
      const auto backward = [&](double scale) {
        write_bytes(gradients, ask<MixedGradients>(played.port, MixedBackward{step, scale}).values);
      };
      const auto state = [&] {
        MixedReport now = report;
        now.after.push_back(mixed.after(zero::StepEnd::taken));
        return now;
      };
      zero::StepEnd end{};
      keeping(kept, state,
              [&] { end = zero::mixed_precision_step(group, mixed.state, backward, c.max_norm); });
      report.after.push_back(mixed.after(end));
    }
    return report;
  };
  return play_in_group<MixedCase>(played, take_steps);
}

}  // namespace lockstep::grader
