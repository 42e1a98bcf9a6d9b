#include "engine/optim/parameter_state.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace lockstep::optim {
namespace {

const Tensor* find(std::span<const StateTensor> state, const std::string& name) {
  const auto at = std::ranges::find(state, name, &StateTensor::name);
  return at == state.end() ? nullptr : &at->value;
}

void check_like(const std::string& name, const Tensor& seen, const Shape& shape, DType dtype) {
  if (seen.shape() == shape && seen.dtype() == dtype) return;
  throw UsageError(text("optimizer state ", name, " is ", name_of(seen.dtype()), " ",
                        text_of(seen.shape()), ", but this model's is ", name_of(dtype), " ",
                        text_of(shape), "; make the model that the state was saved with"));
}

}  // namespace

ParameterWise::ParameterWise(std::vector<Parameter*> parameters, double learning_rate,
                             std::vector<std::string> tensor_names, Counts counts)
    : parameters_(std::move(parameters)),
      learning_rate_(learning_rate),
      tensor_names_(std::move(tensor_names)),
      counts_(counts),
      states_(parameters_.size()) {}

void Optimizer::step_one(std::size_t) {
  throw ContractError(text(kind(), " takes all gradients together; call step()"));
}

void ParameterWise::step() {
  for (std::size_t i = 0; i < parameters_.size(); ++i) step_one(i);
}

void ParameterWise::step_one(std::size_t index) {
  const Parameter& parameter = *parameters_[index];
  if (!parameter.grad.defined()) return;
  State& state = states_[index];
  if (state.updates == 0) {
    std::vector<Tensor> tensors;  // all or none, whatever the memory says
    for (std::size_t k = 0; k < tensor_names_.size(); ++k) {
      tensors.push_back(zeros(parameter.value.shape(), parameter.value.dtype(),
                              parameter.value.device(), MemoryKind::optimizer_state));
    }
    state.tensors = std::move(tensors);
  }
  ++state.updates;
  update(parameter, state);
}

void ParameterWise::zero_grad() {
  for (Parameter* parameter : parameters_) parameter->grad = {};
}

std::vector<StateTensor> ParameterWise::state() const {
  std::vector<StateTensor> all;
  std::set<std::string> names;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const std::string& name = parameters_[i]->name;
    Device& device = parameters_[i]->value.device();
    LOCKSTEP_CHECK(names.insert(name).second, "optimizer state: two parameters are called ", name,
                   "; give each its own name, as the state is kept under it");
    if (states_[i].updates == 0) continue;
    if (counts_ == Counts::yes) {
      const Tensor step = written_by_host(
          {}, DType::int64, device, MemoryKind::optimizer_state,
          [&](const Tensor& to) { to.data<std::int64_t>()[0] = states_[i].updates; });
      all.push_back({name + ".step", step});
    }
    for (std::size_t k = 0; k < tensor_names_.size(); ++k) {
      all.push_back({name + "." + tensor_names_[k], states_[i].tensors[k]});
    }
  }
  return all;
}

void ParameterWise::load_state(std::span<const StateTensor> given) {
  std::vector<State> states;
  std::size_t taken = 0;
  for (const Parameter* parameter : parameters_) {
    states.push_back(state_of(*parameter, given, taken));
  }
  if (taken != given.size()) {
    for (const StateTensor& tensor : given) {
      const bool known = std::ranges::any_of(parameters_, [&](const Parameter* parameter) {
        const std::string start = parameter->name + ".";
        return tensor.name.starts_with(start) &&
               (std::ranges::count(tensor_names_, tensor.name.substr(start.size())) != 0 ||
                (counts_ == Counts::yes && tensor.name == start + "step"));
      });
      if (known) continue;
      throw UsageError(text("optimizer state ", tensor.name, " belongs to nothing here: ", kind(),
                            " over ", parameters_.size(),
                            " parameters has no such state; make the model and the optimizer that ",
                            "the state was saved with"));
    }
    throw UsageError("optimizer state: a name is there twice; each piece of state comes once");
  }
  states_ = std::move(states);
}

// The state of one parameter out of all that was given; empty when nothing of it is there.
ParameterWise::State ParameterWise::state_of(const Parameter& parameter,
                                             std::span<const StateTensor> given,
                                             std::size_t& taken) const {
  std::vector<std::string> names;
  if (counts_ == Counts::yes) names.push_back(parameter.name + ".step");
  for (const std::string& name : tensor_names_) names.push_back(parameter.name + "." + name);

  State state;
  std::string missing;
  std::size_t found = 0;
  for (const std::string& name : names) {
    const Tensor* seen = find(given, name);
    if (seen == nullptr) {
      missing = name;
      continue;
    }
    ++found;
    if (counts_ == Counts::yes && name == names.front()) {
      check_like(name, *seen, {}, DType::int64);
      const bool known = seen->device().has_numbers();
      state.updates = known ? static_cast<std::int64_t>(number_of(*seen)) : 1;
      if (state.updates < 1) {
        throw UsageError(text("optimizer state ", name, " is ", state.updates,
                              "; a state that was saved had at least one update"));
      }
    } else {
      check_like(name, *seen, parameter.value.shape(), parameter.value.dtype());
      Tensor copy = empty(parameter.value.shape(), parameter.value.dtype(),
                          parameter.value.device(), MemoryKind::optimizer_state);
      copy.copy_(to_device(*seen, copy.device()));
      state.tensors.push_back(copy);
      if (counts_ == Counts::no) state.updates = 1;  // how many does not matter, only that it began
    }
  }
  if (found != 0 && found != names.size()) {
    throw UsageError(text("optimizer state ", missing, " is missing though other state of ",
                          parameter.name, " is there; load a state that is whole"));
  }
  taken += found;
  return state;
}

}  // namespace lockstep::optim
