// Plays zero_1_optimizer: steps with gradients that the judge made, on a state of which this rank
// has its range.
#include "grader/parts/11_sharding/zero_1_optimizer/case.hpp"

#include "grader/play/sharded_play.hpp"

namespace lockstep::grader {
namespace {

Tensor shard_of(const Bytes& numbers, const Zero1Case& c, Device& device) {
  const DType dtype = c.steps.front().dtype;
  const auto count = static_cast<std::int64_t>(numbers.size() / bytes_of(dtype));
  const Tensor shard = empty({count}, dtype, device, MemoryKind::optimizer_state);
  write_bytes(shard, numbers);
  return shard;
}

void set_gradients(const std::vector<Parameter*>& parameters, const Gradients& from) {
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Tensor& value = parameters[i]->value;
    parameters[i]->grad = {};
    if (!from.has_grad[i]) continue;
    parameters[i]->grad =
        empty(value.shape(), value.dtype(), value.device(), MemoryKind::gradients);
    write_bytes(parameters[i]->grad, from.grads[i]);
  }
}

void soften(const Tensor& gradient) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < gradient.numel(); ++i) values.push_back(softened(gradient.item(i)));
  gradient.copy_(from_values(values, gradient.shape(), gradient.dtype(), gradient.device()));
}

std::vector<Bytes> values_of(const std::vector<Parameter*>& parameters) {
  std::vector<Bytes> values;
  for (const Parameter* parameter : parameters) {
    values.push_back(copy_of(parameter->value));
  }
  return values;
}

Zero1Report take_steps(comm::ProcessGroup& group, const Zero1Case& c, Device& device,
                       sim::Port& port) {
  const HeldParameters held(c.steps.front(), device);
  const std::vector<Parameter*> parameters = held.list();
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    write_bytes(parameters[i]->value, c.values[i]);
    parameters[i]->grad = {};
  }
  Moments moments(device, port);
  const auto optimizer = zero::make_zero_1_optimizer(
      group, parameters, c.plan, {c.rule, c.decay_dims_min},
      {shard_of(c.first, c, device), shard_of(c.second, c, device), c.updates});
  moments.is_made();
  Zero1Report report;
  for (std::size_t k = 0; k < c.steps.size(); ++k) {
    const Gradients& gradients = c.steps[k];
    const double rate = c.rates[k];
    moments.call([&] {
      set_gradients(parameters, gradients);
      optimizer->step(rate, c.softens ? soften : zero::BeforeUpdate());
      for (Parameter* parameter : parameters) parameter->grad = {};
    });
    const bool last = k + 1 == c.steps.size();
    if (last || !c.measured) report.values.push_back(values_of(parameters));
  }
  const zero::AdamShard state = optimizer->state();
  report.first = copy_of(state.first);
  report.second = copy_of(state.second);
  report.updates = state.updates;
  return report;
}

}  // namespace

Bytes play(sim::PlayerCase& played) { return play_in_group<Zero1Case>(played, take_steps); }

}  // namespace lockstep::grader
