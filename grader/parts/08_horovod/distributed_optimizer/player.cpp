// Plays distributed_optimizer: training steps whose gradients the judge makes, one after the other.
// The background strand is the lab's own, and works as in a real run.
#include "grader/parts/08_horovod/distributed_optimizer/case.hpp"

#include <algorithm>
#include <optional>

#include "grader/play/ranks_play.hpp"

namespace lockstep::grader {
namespace {

using Kind = OptimizerEvent::Kind;

// As Tape::backward adds to a leaf; then its hooks are called.
void add_to_grad(Parameter& parameter, const OptimizerEvent& event) {
  const Tensor& value = parameter.value;
  const Tensor made = empty(value.shape(), value.dtype(), value.device(), MemoryKind::gradients);
  if (!event.values.empty()) {
    std::memcpy(made.raw_bytes().data(), event.values.data(), event.values.size());
  }
  if (parameter.grad.defined()) {
    parameter.grad.reduce_(made, ReduceOp::sum);
  } else {
    parameter.grad = made;
  }
}

void call_hooks(Parameter& parameter) {
  const auto hooks = parameter.hooks;  // a hook may change them
  for (const auto& hook : hooks) hook(parameter);
}

class PlayedOptimizer {
 public:
  PlayedOptimizer(comm::ProcessGroup& group, const OptimizerCase& c, const HeldParameters& held,
                  Strands& strands)
      : held_(held), parameters_(held.list()) {
    for (Parameter* parameter : parameters_) {
      parameter->hooks.emplace_back([this](Parameter&) { ++report_.heard; });
    }
    horovod::HorovodOptions options;
    options.combine = c.combine;
    options.gradient_predivide_factor = c.predivide_factor;
    options.backward_passes_per_step = c.passes;
    options.fusion_threshold_bytes = c.threshold_bytes;
    options.cycle_s = c.cycle_s;
    options.stall_limit_s = 1e6;  // of virtual time
    options.strands = &strands;
    auto wrapped = parameters_;
    if (c.listed == Listed::reversed) std::ranges::reverse(wrapped);
    optimizer_ =
        horovod::make_distributed_optimizer(make_rule(c.rule, std::move(wrapped)), group, options);
  }

  OptimizerReport played(sim::Port& port) {
    while (true) {
      const auto event = ask<OptimizerEvent>(port, OptimizerCall{});
      if (event.kind == Kind::done) return std::move(report_);
      if (event.kind >= Kind::extra_gradient) {
        Ending& ending = report_.refusals.emplace_back();
        ending = ending_of<ContractError>([&] { refused(event); });
        // The words in which it refuses are no evidence.
        if (ending.kind == Ending::Kind::threw_expected) ending = {ending.kind, ending.type, {}};
      } else {
        take_and_explain(event);
      }
    }
  }

 private:
  // A stall has causes in this part that the engine does not know of.
  void take_and_explain(const OptimizerEvent& event) {
    try {
      take(event);
    } catch (const Error& error) {
      if (std::string_view(error.what()).find(" is ready on ") == std::string_view::npos) throw;
      throw Error(text(error.what(),
                       ". Likely cause: synchronize() must hand over what no hook did, and a hook "
                       "must not wait"));
    }
  }

  void take(const OptimizerEvent& event) {
    switch (event.kind) {
      case Kind::zero_grad:
        return optimizer_->zero_grad();
      case Kind::gradient:
        add_to_grad(*parameters_.at(event.parameter), event);
        return call_hooks(*parameters_.at(event.parameter));
      case Kind::synchronize:
        return optimizer_->synchronize();
      case Kind::scale:
        for (Parameter* parameter : parameters_) parameter->grad.scale_(event.factor);
        return;
      case Kind::step:
        optimizer_->step();
        return report_.after.push_back(held_.report());
      case Kind::skipped_step: {
        const auto guard = optimizer_->skip_synchronize();
        optimizer_->step();
        return report_.after.push_back(held_.report());
      }
      case Kind::step_under_two:
      case Kind::step_under_the_outer: {
        const auto outer = optimizer_->skip_synchronize();
        std::optional<horovod::DistributedOptimizer::SkipSynchronize> inner;
        inner.emplace(*optimizer_);
        if (event.kind == Kind::step_under_the_outer) inner.reset();
        optimizer_->step();
        return report_.after.push_back(held_.report());
      }
      default:
        optimizer_.reset();
        for (const Parameter* one : parameters_) report_.hooks_left += one->hooks.size();
        // Each has one of the adapter's own.
        report_.hooks_left -= std::min<std::uint64_t>(report_.hooks_left, parameters_.size());
    }
  }

  void refused(const OptimizerEvent& event) {
    switch (event.kind) {
      case Kind::extra_gradient:  // its values would be added to what is on its way
        return call_hooks(*parameters_.at(event.parameter));
      case Kind::early_zero_grad:
        return optimizer_->zero_grad();
      case Kind::second_synchronize:
        return optimizer_->synchronize();
      case Kind::early_skipped_step: {
        const auto guard = optimizer_->skip_synchronize();
        return optimizer_->step();
      }
      default:
        return optimizer_->step();
    }
  }

  const HeldParameters& held_;
  std::vector<Parameter*> parameters_;
  OptimizerReport report_;
  std::unique_ptr<horovod::DistributedOptimizer> optimizer_;
};

}  // namespace

Bytes play(sim::PlayerCase& played) {
  return play_in_group<OptimizerCase>(played, [&](comm::ProcessGroup& group, const OptimizerCase& c,
                                                  Device& device, sim::Port& port) {
    const HeldParameters held(c.parameters, device);
    PlayedOptimizer optimizer(group, c, held, played.strands);
    return optimizer.played(port);
  });
}

}  // namespace lockstep::grader
