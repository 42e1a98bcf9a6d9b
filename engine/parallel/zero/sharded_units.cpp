#include "engine/parallel/zero/sharded_units.hpp"

#include <algorithm>
#include <utility>

#include "engine/base/error.hpp"
#include "engine/parallel/zero/sharded_unit.hpp"

namespace lockstep::zero {
namespace {

Values values_of(const std::vector<Parameter*>& parameters) {
  Values values;
  for (const Parameter* parameter : parameters) values[parameter->name] = parameter->value;
  return values;
}

}  // namespace

ShardedUnits::ShardedUnits(const nn::ModelSpec& spec, std::uint64_t seed, Device& device,
                           ShardGroups groups, const ShardingOptions& options, HostLink* link)
    : device_(device),
      dtype_(spec.dtype),
      weights_(options.weights.value_or(spec.dtype)),
      wire_(options.reduce.value_or(spec.dtype)),
      groups_(groups),
      keeps_(options.sharding != Sharding::full_shard &&
             options.sharding != Sharding::shard_grad_op),
      cut_(options.cut),
      offload_(options.offload),
      in_place_(options.sharding == Sharding::zero_1 || groups.shards.size() == 1),
      model_(nn::make_units(spec, nowhere_, 0, {0, nn::unit_count(spec)})) {
  LOCKSTEP_CHECK(!keeps_ || cut_ == Cut::flat,
                 "sharded units: rows are cut of parameters that are gathered for passes; here "
                 "they are whole on every rank, so cut ranges of the flat tensor (Cut::flat)");
  LOCKSTEP_CHECK(!keeps_ || offload_ != Offload::all,
                 "sharded units: parameters are whole on every rank, so none of them can leave the "
                 "device; offload the optimizer alone (Offload::optimizer)");
  LOCKSTEP_CHECK((offload_ == Offload::nothing) == (link == nullptr),
                 "sharded units: who offloads state says over which link, and nobody else does");
  if (link != nullptr) host_.emplace(*link, groups_.shards);
  LOCKSTEP_CHECK(model_->buffers().empty(),
                 "sharded units: a model with buffers, which have no place in a shard yet");
  const int count = static_cast<int>(nn::unit_count(spec));
  for (std::vector<Parameter*>& parameters : parameters_by_unit(*model_, spec)) {
    lay_out(*units_.emplace_back(std::make_unique<Unit>()), std::move(parameters));
  }
  plan_ = unit_plan({options.sharding, count, std::ssize(units_) > count, options.prefetch,
                     offload_ == Offload::all});
  alone_ = without_reductions(plan_);
  now_ = &plan_;
  nn::ModelSpec of_weights = spec;
  of_weights.dtype = weights_;
  for_each_unit_made(of_weights, device_, seed, [&](const Values& values) {
    for (const auto& unit : units_) {
      const bool here = !unit->empty() && values.contains(unit->parameters.front()->name);
      if (here && !unit->updated.defined()) fill_unit(*unit, put_from(values));
    }
  });
  model_->tell(this);
}

ShardedUnits::ShardedUnits(std::vector<std::vector<Parameter*>> units, DType dtype, Device& device,
                           ShardGroups groups)
    : device_(device),
      dtype_(dtype),
      weights_(dtype),
      wire_(dtype),
      groups_(groups),
      keeps_(true),
      cut_(Cut::flat),
      in_place_(true),
      plan_(unit_plan({Sharding::zero_1, static_cast<int>(units.size())})),
      alone_(without_reductions(plan_)),
      now_(&plan_) {
  for (std::vector<Parameter*>& parameters : units) {
    const Values values = values_of(parameters);
    lay_out(*units_.emplace_back(std::make_unique<Unit>()), std::move(parameters));
    if (!units_.back()->empty()) fill_unit(*units_.back(), put_from(values));
  }
}

ShardedUnits::~ShardedUnits() = default;

std::vector<ShardedUnits::Owned*> ShardedUnits::owned() {
  std::vector<Owned*> all;
  for (const auto& unit : units_) {
    for (Owned& owned : unit->owned) all.push_back(&owned);
  }
  return all;
}

std::vector<Tensor> ShardedUnits::gradients() const {
  std::vector<Tensor> all;
  for (const auto& unit : units_) {
    if (!unit->empty()) all.push_back(unit->sum);
  }
  return all;
}

void ShardedUnits::zero_grad() {
  communication_ = {};
  if (host_) host_->reset();
  for (const auto& unit : units_) {
    unit->sum = unit->gradients = {};
    for (Owned& owned : unit->owned) owned.parameter.grad = {};
    for (Parameter* parameter : unit->parameters) parameter->grad = parameter->grad_place = {};
  }
}

void ShardedUnits::begin(Reduces reduces) {
  pass_ = Pass::training;
  now_ = reduces == Reduces::yes ? &plan_ : &alone_;
  if (model_) return;  // whose units make places when their backward passes begin
  for (const auto& unit : units_) make_places(*unit);
}

void ShardedUnits::begin_evaluation() {
  pass_ = Pass::evaluation;
  now_ = &plan_;
}

void ShardedUnits::end_backward() {
  carry_out(now_->after_backward);
  end_crossings(0);
  if (host_) host_->settle();
}

// The updated shard becomes the one that passes compute with: rounded where it is a master, and
// brought up from the host. Whole parameters must be there when the step is over; any others are
// waited for when they are gathered.
void ShardedUnits::end_update() {
  for (const auto& unit : units_) {
    if (unit->empty() || !unit->shard.defined()) continue;
    if (unit->rounded.defined()) unit->rounded.convert_(unit->updated);
    if (offload_ == Offload::optimizer) {
      unit->raising =
          host_->raise(unit->rounded.defined() ? unit->rounded : unit->updated, unit->shard);
    }
  }
  carry_out(plan_.after_update);
  if (!keeps_ || !host_) return;
  for (const auto& unit : units_) host_->await(unit->raising);
}

void ShardedUnits::before_forward(std::size_t unit) {
  const bool training = pass_ == Pass::training;
  carry_out((training ? now_->forward : now_->evaluation).before[unit]);
}

void ShardedUnits::after_forward(std::size_t unit) {
  const bool training = pass_ == Pass::training;
  carry_out((training ? now_->forward : now_->evaluation).after[unit]);
}

void ShardedUnits::before_backward(std::size_t unit) {
  carry_out(now_->backward.before[unit]);
  make_places(*units_[unit]);
  if (plan_.root) make_places(*units_.back());
}

void ShardedUnits::after_backward(std::size_t unit) { carry_out(now_->backward.after[unit]); }

void ShardedUnits::carry_out(const Actions& actions) {
  for (const auto& [act, number] : actions) {
    Unit& unit = *units_[static_cast<std::size_t>(number)];
    if (unit.empty()) continue;
    naming(unit, act, [&] { carry_out(act, unit); });
    if (act == Act::reduced) end_crossings(1);
  }
}

// Names the unit in what is said of a peer that is lost.
void ShardedUnits::naming(const Unit& unit, Act act, const std::function<void()>& body) const {
  try {
    body();
  } catch (const CommError& error) {
    const bool reduces = act == Act::reduce || act == Act::reduced;
    throw CommError(text("sharded state: ", groups_.shards.own_name(),
                         reduces ? " reduces the gradients" : " gathers the parameters",
                         " of unit ", unit.number, " (", unit.parameters.front()->name, " to ",
                         unit.parameters.back()->name, "): ", error.what()));
  }
}

void ShardedUnits::carry_out(Act act, Unit& unit) {
  switch (act) {
    case Act::fetch:
      return fetch(unit);
    case Act::gather:
      return gather(unit);
    case Act::wait:
      await(unit.gathering);
      unit.raised = {};
      return bind(unit);
    case Act::run:  // in no plan: the model runs its units
      return;
    case Act::free:
      return free(unit);
    case Act::reduce:
      return reduce(unit);
    case Act::reduced:
      return end_reduction(unit);
  }
}

HostCopies ShardedUnits::copies() const { return host_ ? host_->copies() : HostCopies{}; }

HostTraffic ShardedUnits::copies_planned() const {
  if (!host_) return {};
  std::int64_t shards = 0;
  for (const auto& unit : units_) shards += unit->cut.shard;
  const std::int64_t fetched = elements_fetched(plan_, counts(), groups_.shards.size());
  return {
      shards * static_cast<std::int64_t>(bytes_of(wire_)),
      (offload_ == Offload::all ? fetched : shards) * static_cast<std::int64_t>(bytes_of(dtype_))};
}

}  // namespace lockstep::zero
