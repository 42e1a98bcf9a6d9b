#include "engine/parallel/zero/sharded_units.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "engine/base/error.hpp"

namespace lockstep::zero {

struct ShardedUnits::Unit {
  std::vector<Parameter*> parameters;  // of the model
  std::vector<Shape> shapes;
  FlatShards cut;
  Tensor shard;      // [S], this rank's
  Tensor values;     // [N·S] while they are there, or on their way
  Tensor gradients;  // [N·S] from the unit's backward pass to its reduction
  Tensor incoming;   // [S] while the reduction runs
  Tensor sum;        // [S], reduced; since zero_grad
  std::vector<Owned> owned;
  comm::Work gathering, reducing;

  bool empty() const { return cut.count == 0; }
  Tensor part(const Tensor& flat, std::size_t parameter) const {
    return flat.narrow(cut.starts[parameter], numel_of(shapes[parameter])).view(shapes[parameter]);
  }
};

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

using Values = std::map<std::string, Tensor>;  // whole, by name

Values values_of(const std::vector<Parameter*>& parameters) {
  Values values;
  for (const Parameter* parameter : parameters) values[parameter->name] = parameter->value;
  return values;
}

// As fill() calls it. `values` must outlive it.
ShardedUnits::Put put_from(const Values& values) {
  return [&values](const std::string& name, std::int64_t begin, const Tensor& into) {
    const Tensor& whole = values.at(name);
    into.copy_(whole.view({whole.numel()}).narrow(begin, into.numel()));
  };
}

void zero_padding(const Tensor& flat, const FlatShards& cut) {
  if (cut.padded() > cut.count) flat.narrow(cut.count, cut.padded() - cut.count).fill_(0);
}

}  // namespace

ShardedUnits::ShardedUnits(const nn::ModelSpec& spec, std::uint64_t seed, Device& device,
                           ShardGroups groups, const ShardingOptions& options)
    : device_(device),
      dtype_(spec.dtype),
      groups_(groups),
      keeps_(options.sharding != Sharding::full_shard &&
             options.sharding != Sharding::shard_grad_op),
      cut_(options.cut),
      in_place_(options.sharding == Sharding::zero_1 || groups.shards.size() == 1),
      model_(nn::make_units(spec, nowhere_, 0, {0, nn::unit_count(spec)})) {
  LOCKSTEP_CHECK(!keeps_ || cut_ == Cut::flat,
                 "sharded units: rows are cut of parameters that are gathered for passes; here "
                 "they are whole on every rank, so cut ranges of the flat tensor (Cut::flat)");
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
  plan_ = unit_plan({options.sharding, count, std::ssize(units_) > count, options.prefetch});
  alone_ = without_reductions(plan_);
  now_ = &plan_;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto made = nn::make_units(spec, device_, seed, {i, 1});
    const Values values = values_of(made->parameters());
    for (const auto& unit : units_) {
      const bool here = !unit->empty() && values.contains(unit->parameters.front()->name);
      if (here && !unit->shard.defined()) {
        fill_unit(*unit, put_from(values));
      }
    }
  }
  model_->tell(this);
}

ShardedUnits::ShardedUnits(std::vector<std::vector<Parameter*>> units, DType dtype, Device& device,
                           ShardGroups groups)
    : device_(device),
      dtype_(dtype),
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

// Decides who owns what of a unit. Its parameters have no values from here on.
void ShardedUnits::lay_out(Unit& unit, std::vector<Parameter*> parameters) {
  std::vector<std::int64_t> numels;
  for (Parameter* parameter : parameters) {
    unit.shapes.push_back(parameter->value.shape());
    numels.push_back(parameter->value.numel());
    parameter->value = {};
  }
  unit.parameters = std::move(parameters);
  const int ranks = groups_.shards.size();
  unit.cut = cut_ == Cut::rows ? row_shards(unit.shapes, ranks) : flat_shards(numels, ranks);
  for (const ShardPiece& piece : unit.cut.ranks[static_cast<std::size_t>(groups_.shards.rank())]) {
    Owned& owned = unit.owned.emplace_back();
    owned.parameter.name = unit.parameters[piece.parameter]->name;
    owned.parameter.whole = unit.shapes[piece.parameter];
    owned.begin = piece.begin;
    owned.end = piece.end;
  }
}

void ShardedUnits::fill(const Put& put) {
  for (const auto& unit : units_) {
    if (!unit->empty()) fill_unit(*unit, put);
  }
}

void ShardedUnits::fill_unit(Unit& unit, const Put& put) {
  const int rank = groups_.shards.rank();
  if (!unit.shard.defined()) {
    const std::int64_t count = keeps_ ? unit.cut.padded() : unit.cut.shard;
    const Tensor made = zeros({count}, dtype_, device_, MemoryKind::parameters);
    if (keeps_) unit.values = made;
    unit.shard = keeps_ ? made.narrow(rank * unit.cut.shard, unit.cut.shard) : made;
    if (keeps_) bind(unit);
    const auto& pieces = unit.cut.ranks[static_cast<std::size_t>(rank)];
    for (std::size_t k = 0; k < pieces.size(); ++k) {
      unit.owned[k].parameter.value =
          unit.shard.narrow(pieces[k].offset, pieces[k].end - pieces[k].begin);
    }
  }
  if (keeps_) {
    for (Parameter* parameter : unit.parameters) put(parameter->name, 0, parameter->value);
    return;
  }
  for (const Owned& owned : unit.owned) {
    put(owned.parameter.name, owned.begin, owned.parameter.value);
  }
}

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

void ShardedUnits::end_backward() { carry_out(now_->after_backward); }
void ShardedUnits::end_update() { carry_out(plan_.after_update); }

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
    try {
      carry_out(act, unit);
    } catch (const CommError& error) {
      const bool reduces = act == Act::reduce || act == Act::reduced;
      throw CommError(text("sharded state: ", groups_.shards.own_name(),
                           reduces ? " reduces the gradients" : " gathers the parameters",
                           " of unit ", number, " (", unit.parameters.front()->name, " to ",
                           unit.parameters.back()->name, "): ", error.what()));
    }
  }
}

void ShardedUnits::carry_out(Act act, Unit& unit) {
  switch (act) {
    case Act::gather:
      return gather(unit);
    case Act::wait:
      await(unit.gathering);
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

void ShardedUnits::gather(Unit& unit) {
  if (keeps_ && groups_.shards.size() == 1) return;
  if (!unit.values.defined()) {
    unit.values = empty({unit.cut.padded()}, dtype_, device_, MemoryKind::parameters);
  }
  unit.gathering = groups_.shards.all_gather_async(unit.shard, unit.values);
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
  unit.gradients = zeros({unit.cut.padded()}, dtype_, device_, MemoryKind::gradients);
  for (std::size_t rank = 0; rank < unit.cut.ranks.size(); ++rank) {
    const Tensor of_rank =
        unit.gradients.narrow(static_cast<std::int64_t>(rank) * unit.cut.shard, unit.cut.shard);
    for (const auto& [p, begin, end, offset] : unit.cut.ranks[rank]) {
      if (!unit.parameters[p]->grad.defined()) continue;
      const Tensor whole = unit.parameters[p]->grad.view({-1});
      of_rank.narrow(offset, end - begin).copy_(whole.narrow(begin, end - begin));
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
  if (ranks() > 1) unit.gradients.scale_(1.0 / ranks());
  const std::int64_t first = groups_.shards.rank() * unit.cut.shard;
  unit.incoming = in_place_ ? unit.gradients.narrow(first, unit.cut.shard)
                            : empty({unit.cut.shard}, dtype_, device_, MemoryKind::gradients);
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
  if (unit.sum.defined()) {
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

std::int64_t ShardedUnits::bytes_planned() const {
  std::vector<std::int64_t> counts;
  for (const auto& unit : units_) counts.push_back(unit->cut.padded());
  const auto width = static_cast<std::int64_t>(bytes_of(dtype_));
  return elements_sent(plan_, counts, groups_.shards.size()) * width;
}

}  // namespace lockstep::zero
