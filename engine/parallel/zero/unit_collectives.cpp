// The actions of a plan, each on one unit: fetch, gather, bind, free, reduce.
#include <utility>

#include "engine/base/error.hpp"
#include "engine/parallel/zero/sharded_unit.hpp"

namespace lockstep::zero {
namespace {

void zero_padding(const Tensor& flat, const FlatShards& cut) {
  if (cut.padded() > cut.count) flat.narrow(cut.count, cut.padded() - cut.count).fill_(0);
}

}  // namespace

// Shows a collective to whoever watches.
comm::Work ShardedUnits::watched(const char* name, const Unit& unit, const Tensor& moved,
                                 comm::Work work) const {
  if (!watch_) return work;
  const auto bytes = static_cast<std::int64_t>(moved.bytes());
  const int queue = &moved == &unit.incoming ? 1 : 0;  // of the copies, or of the shards
  return watch_({text(name, " of unit ", unit.number), bytes, queue}, std::move(work));
}

// This rank's part of what is gathered.
Tensor ShardedUnits::own_range(const Unit& unit) const {
  return unit.values.narrow(groups_.shards.rank() * unit.cut.shard, unit.cut.shard);
}

void ShardedUnits::fetch(Unit& unit) {
  unit.raised = empty({unit.cut.shard}, dtype_, device_, MemoryKind::parameters);
  unit.raising = host_->raise(unit.shard, unit.raised);
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
  unit.gathering =
      watched("all_gather", unit, unit.values, groups_.shards.all_gather_async(own, unit.values));
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
        watched("reduce_scatter", unit, unit.gradients,
                groups_.shards.reduce_scatter_async(unit.gradients, unit.incoming, ReduceOp::sum));
  } else if (groups_.copies != nullptr) {
    reduce_copies(unit);
  }
}

void ShardedUnits::reduce_copies(Unit& unit) {
  unit.reducing = watched("all_reduce", unit, unit.incoming,
                          groups_.copies->all_reduce_async(unit.incoming, ReduceOp::sum));
}

// The gradients of the whole unit go. Those of this rank's ranges are complete, or cross over to
// the other copies while backward goes on.
void ShardedUnits::end_reduction(Unit& unit) {
  await(unit.reducing);
  unit.gradients = {};
  for (Parameter* parameter : unit.parameters) parameter->grad = parameter->grad_place = {};
  if (!crosses()) return take_in(unit);
  reduce_copies(unit);
  crossing_.push_back(unit.number);
}

// Until so many units' gradients are on their way to other copies.
void ShardedUnits::end_crossings(std::size_t left) {
  while (crossing_.size() > left) {
    const int number = crossing_.front();
    crossing_.pop_front();
    Unit& unit = *units_[static_cast<std::size_t>(number)];
    naming(unit, Act::reduced, [&] {
      await(unit.reducing);
      take_in(unit);
    });
  }
}

// Adds the reduced gradients of this rank's ranges to those of the step.
void ShardedUnits::take_in(Unit& unit) {
  if (!host_ && wire_ != weights_) unit.incoming = unit.incoming.to(weights_);
  if (host_) {
    host_->lower(unit.incoming, unit.sum, weights_);
  } else if (unit.sum.defined()) {
    unit.sum.reduce_(unit.incoming, ReduceOp::sum);
  } else {
    unit.sum = unit.incoming;
  }
  unit.incoming = {};
  const auto& pieces = unit.cut.ranks[static_cast<std::size_t>(groups_.shards.rank())];
  for (std::size_t k = 0; k < pieces.size(); ++k) {
    unit.owned[k].parameter.grad =
        unit.sum.narrow(pieces[k].offset, pieces[k].end - pieces[k].begin);
  }
}

// Waits, and notes how long the collective ran and how long this rank stood.
void ShardedUnits::await(comm::Work& work) {
  if (work.complete()) return;
  // The host's clock sees only when a device that runs behind it was asked for work.
  if (device_.numbers() == Numbers::away) return work.wait();
  const double began_s = groups_.shards.now_s();
  work.wait();
  const double waited_s = groups_.shards.now_s() - began_s;
  communication_.exposed_s += waited_s;
  communication_.total_s += work.ran_s().value_or(waited_s);
}

// The elements of each unit, padding included.
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

}  // namespace lockstep::zero
