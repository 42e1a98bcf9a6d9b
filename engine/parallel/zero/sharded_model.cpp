#include "engine/parallel/zero/sharded_model.hpp"

#include "engine/parallel/zero/sharded_unit.hpp"
#include "engine/tensor/symbolic.hpp"

namespace lockstep::zero {

std::vector<Parameter*> ShardedModel::shards() {
  std::vector<Parameter*> all;
  for (Owned* one : owned()) all.push_back(&one->parameter);
  return all;
}

std::unique_ptr<optim::Optimizer> ShardedModel::make_optimizer(const optim::OptimizerSpec& spec) {
  return optim::make_optimizer(spec, shards());
}

void ShardedModel::update(optim::Optimizer& optimizer, const Prepare& prepare) {
  if (prepare() == optim::Overflow::yes) return;
  optimizer.step();
  end_update();
}

std::vector<std::vector<Parameter*>> parameters_by_unit(nn::Chain& model,
                                                        const nn::ModelSpec& spec) {
  SymbolicDevice nowhere;
  std::map<std::string, int> uses;  // made apart, each unit that uses a parameter has one
  for (std::int64_t i = 0; i < nn::unit_count(spec); ++i) {
    const auto unit = nn::make_units(spec, nowhere, 0, {i, 1});
    for (const Parameter* parameter : unit->parameters()) ++uses[parameter->name];
  }
  std::vector<std::vector<Parameter*>> units;
  std::vector<Parameter*> shared;
  for (nn::Unit& unit : model.units()) {
    std::vector<Parameter*>& own = units.emplace_back();
    for (Parameter* parameter : unit.module->parameters()) {
      (uses.at(parameter->name) > 1 ? shared : own).push_back(parameter);
    }
  }
  if (!shared.empty()) units.push_back(std::move(shared));
  return units;
}

void for_each_unit_made(const nn::ModelSpec& spec, Device& device, std::uint64_t seed,
                        const std::function<void(const Values&)>& body) {
  for (std::int64_t i = 0; i < nn::unit_count(spec); ++i) {
    const auto made = nn::make_units(spec, device, seed, {i, 1});
    Values values;
    for (const Parameter* parameter : made->parameters()) {
      values[parameter->name] = parameter->value;
    }
    body(values);
  }
}

ShardedModel::Put put_from(const Values& values) {
  return [&values](const std::string& name, std::int64_t begin, const Tensor& into) {
    const Tensor& whole = values.at(name);
    into.copy_(beside(whole.view({whole.numel()}).narrow(begin, into.numel()), into));
  };
}

}  // namespace lockstep::zero
