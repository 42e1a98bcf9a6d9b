#include "engine/parallel/zero/sharded_units.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "engine/base/error.hpp"
#include "engine/parallel/zero/sharded_unit.hpp"

namespace lockstep::zero {

namespace {

// The names of parameters that several units use. Made apart, each of these units has one.
std::map<std::string, int> uses_of(const nn::ModelSpec& spec, Device& device) {
  std::map<std::string, int> uses;
  for (std::int64_t i = 0; i < nn::unit_count(spec); ++i) {
    const auto unit = nn::make_units(spec, device, 0, {i, 1});
    for (const Parameter* parameter : unit->parameters()) ++uses[parameter->name];
  }
  return uses;
}

void zero_padding(const Tensor& flat, const FlatShards& cut) {
  if (cut.padded() > cut.count) flat.narrow(cut.count, cut.padded() - cut.count).fill_(0);
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
  const auto uses = uses_of(spec, nowhere_);
  std::vector<Parameter*> shared;
  for (nn::Unit& unit : model_->units()) {
    std::vector<Parameter*> own;
    for (Parameter* parameter : unit.module->parameters()) {
      (uses.at(parameter->name) > 1 ? shared : own).push_back(parameter);
    }
    lay_out(*units_.emplace_back(std::make_unique<Unit>()), std::move(own));
  }
  const int count = static_cast<int>(units_.size());
  if (!shared.empty()) lay_out(*units_.emplace_back(std::make_unique<Unit>()), std::move(shared));
  plan_ = unit_plan({options.sharding, count, std::ssize(units_) > count, options.prefetch,
                     offload_ == Offload::all});
  alone_ = without_reductions(plan_);
  now_ = &plan_;
  nn::ModelSpec of_weights = spec;
  of_weights.dtype = weights_;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto made = nn::make_units(of_weights, device_, seed, {i, 1});
    std::map<std::string, Tensor> values;
    for (const Parameter* parameter : made->parameters()) {
      values[parameter->name] = parameter->value;
    }
    for (const auto& unit : units_) {
      const bool here = !unit->empty() && values.contains(unit->parameters.front()->name);
      if (here && !unit->updated.defined()) {
        fill_unit(*unit, [&](const std::string& name) { return values.at(name); });
      }
    }
  }
  model_->tell(this);
}

ShardedUnits::~ShardedUnits() = default;

std::vector<ShardedUnits::Owned*> ShardedUnits::owned() {
  std::vector<Owned*> all;
  for (const auto& unit : units_) {
    for (Owned& owned : unit->owned) all.push_back(&owned);
  }
  return all;
}

std::vector<Parameter*> ShardedUnits::shards() {
  std::vector<Parameter*> all;
  for (Owned* one : owned()) all.push_back(&one->parameter);
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
}

void ShardedUnits::begin_evaluation() {
  pass_ = Pass::evaluation;
  now_ = &plan_;
}

void ShardedUnits::end_backward() {
  carry_out(now_->after_backward);
  if (host_) host_->settle();
}

// What is updated becomes what is computed with: rounded where it is a master, and brought up from
// the host. Whole parameters must be there when the step is over; any others are waited for when
// they are gathered.
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
    switch (act) {
      case Act::fetch:
        fetch(unit);
        break;
      case Act::gather:
        gather(unit);
        break;
      case Act::wait:
        await(unit.gathering);
        unit.raised = {};
        bind(unit);
        break;
      case Act::free:
        free(unit);
        break;
      case Act::reduce:
        reduce(unit);
        break;
      case Act::reduced:
        end_reduction(unit);
        break;
    }
  }
}

void ShardedUnits::fetch(Unit& unit) {
  unit.raised = empty({unit.cut.shard}, dtype_, device_, MemoryKind::parameters);
  unit.raising = host_->raise(unit.shard, unit.raised);
}

// This rank's part of what is gathered.
Tensor ShardedUnits::own_range(const Unit& unit) const {
  return unit.values.narrow(groups_.shards.rank() * unit.cut.shard, unit.cut.shard);
}

void ShardedUnits::gather(Unit& unit) {
  if (keeps_ && groups_.shards.size() == 1) return;
  if (!unit.values.defined()) {
    unit.values = empty({unit.cut.padded()}, dtype_, device_, MemoryKind::parameters);
  }
  if (host_) host_->await(unit.raising);
  const bool rounds = !unit.shard.defined();
  if (rounds) own_range(unit).convert_(unit.updated);
  const Tensor own = rounds || keeps_        ? own_range(unit)
                     : unit.raised.defined() ? unit.raised
                                             : unit.shard;
  unit.gathering = groups_.shards.all_gather_async(own, unit.values);
}

void ShardedUnits::bind(Unit& unit) {
  if (!unit.cut.in_order()) return copy_out(unit);
  for (std::size_t p = 0; p < unit.parameters.size(); ++p) {
    unit.parameters[p]->value = unit.part(unit.values, p);
  }
}

// Each rank's rows of a parameter lie in that rank's part of what was gathered.
void ShardedUnits::copy_out(Unit& unit) {
  if (!unit.values.defined()) return;  // they are out
  for (std::size_t p = 0; p < unit.parameters.size(); ++p) {
    unit.parameters[p]->value = empty(unit.shapes[p], dtype_, device_, MemoryKind::parameters);
  }
  for (std::size_t rank = 0; rank < unit.cut.ranks.size(); ++rank) {
    const Tensor of_rank =
        unit.values.narrow(static_cast<std::int64_t>(rank) * unit.cut.shard, unit.cut.shard);
    for (const auto& [p, begin, end, offset] : unit.cut.ranks[rank]) {
      const Tensor whole = unit.parameters[p]->value.view({-1});
      whole.narrow(begin, end - begin).copy_(of_rank.narrow(offset, end - begin));
    }
  }
  unit.values = {};
}

void ShardedUnits::copy_in(Unit& unit) {
  unit.gradients = zeros({unit.cut.padded()}, wire_, device_, MemoryKind::gradients);
  for (std::size_t rank = 0; rank < unit.cut.ranks.size(); ++rank) {
    const Tensor of_rank =
        unit.gradients.narrow(static_cast<std::int64_t>(rank) * unit.cut.shard, unit.cut.shard);
    for (const auto& [p, begin, end, offset] : unit.cut.ranks[rank]) {
      if (!unit.parameters[p]->grad.defined()) continue;
      const Tensor whole = unit.parameters[p]->grad.view({-1});
      of_rank.narrow(offset, end - begin).convert_(whole.narrow(begin, end - begin));
    }
  }
  for (Parameter* parameter : unit.parameters) parameter->grad = {};
}

void ShardedUnits::free(Unit& unit) {
  for (Parameter* parameter : unit.parameters) parameter->value = {};
  unit.values = {};
}

void ShardedUnits::make_places(Unit& unit) {
  if (unit.empty() || unit.gradients.defined() || !unit.cut.in_order()) return;
  unit.gradients = empty({unit.cut.padded()}, dtype_, device_, MemoryKind::gradients);
  zero_padding(unit.gradients, unit.cut);
  for (std::size_t p = 0; p < unit.parameters.size(); ++p) {
    unit.parameters[p]->grad_place = unit.part(unit.gradients, p);
  }
}

int ShardedUnits::ranks() const {
  return groups_.shards.size() * (groups_.copies != nullptr ? groups_.copies->size() : 1);
}

void ShardedUnits::reduce(Unit& unit) {
  if (!unit.cut.in_order()) copy_in(unit);
  for (Parameter* parameter : unit.parameters) {  // those that the loss did not need
    if (parameter->grad_place.defined() && !parameter->grad.defined()) {
      parameter->grad_place.fill_(0);
    }
  }
  if (unit.gradients.dtype() != wire_) {
    const Tensor made = std::exchange(unit.gradients, {});
    for (Parameter* parameter : unit.parameters) parameter->grad = parameter->grad_place = {};
    unit.gradients = made.to(wire_);
  }
  if (ranks() > 1) unit.gradients.scale_(1.0 / ranks());
  const std::int64_t first = groups_.shards.rank() * unit.cut.shard;
  unit.incoming = in_place_ ? unit.gradients.narrow(first, unit.cut.shard)
                            : empty({unit.cut.shard}, wire_, device_, MemoryKind::gradients);
  if (groups_.shards.size() > 1) {
    unit.reducing =
        groups_.shards.reduce_scatter_async(unit.gradients, unit.incoming, ReduceOp::sum);
  } else if (groups_.copies != nullptr) {
    unit.reducing = groups_.copies->all_reduce_async(unit.incoming, ReduceOp::sum);
  }
}

// The gradients of this rank's ranges; those of the whole unit go.
void ShardedUnits::end_reduction(Unit& unit) {
  await(unit.reducing);
  if (groups_.shards.size() > 1 && groups_.copies != nullptr) {
    comm::Work work = groups_.copies->all_reduce_async(unit.incoming, ReduceOp::sum);
    await(work);
  }
  if (!host_ && wire_ != weights_) unit.incoming = unit.incoming.to(weights_);
  if (host_) {
    host_->lower(unit.incoming, unit.sum, weights_);
  } else if (unit.sum.defined()) {
    unit.sum.reduce_(unit.incoming, ReduceOp::sum);
  } else {
    unit.sum = unit.incoming;
  }
  unit.incoming = unit.gradients = {};
  for (Parameter* parameter : unit.parameters) parameter->grad = parameter->grad_place = {};
  const auto& pieces = unit.cut.ranks[static_cast<std::size_t>(groups_.shards.rank())];
  for (std::size_t k = 0; k < pieces.size(); ++k) {
    unit.owned[k].parameter.grad =
        unit.sum.narrow(pieces[k].offset, pieces[k].end - pieces[k].begin);
  }
}

// Waits, and notes how long the collective ran and how long this rank stood.
void ShardedUnits::await(comm::Work& work) {
  if (work.complete()) return;
  const double began_s = groups_.shards.now_s();
  work.wait();
  const double waited_s = groups_.shards.now_s() - began_s;
  communication_.exposed_s += waited_s;
  communication_.total_s += work.ran_s().value_or(waited_s);
}

// Of each unit, padding included.
std::vector<std::int64_t> ShardedUnits::counts() const {
  std::vector<std::int64_t> counts;
  for (const auto& unit : units_) counts.push_back(unit->cut.padded());
  return counts;
}

std::int64_t ShardedUnits::bytes_planned() const {
  const int ranks = groups_.shards.size();
  const std::int64_t gathered = elements_sent(alone_, counts(), ranks);
  const std::int64_t reduced = elements_sent(plan_, counts(), ranks) - gathered;
  return gathered * static_cast<std::int64_t>(bytes_of(dtype_)) +
         reduced * static_cast<std::int64_t>(bytes_of(wire_));
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
