// The memory of ShardedUnits, unit by unit: who owns which elements, where they lie, and the
// values that they begin with.
#include "engine/base/error.hpp"
#include "engine/parallel/zero/sharded_unit.hpp"

namespace lockstep::zero {

Tensor beside(const Tensor& tensor, const Tensor& other) {
  const auto away = [](const Tensor& one) { return one.device().numbers() == Numbers::away; };
  return away(tensor) || away(other) ? to_device(tensor, other.device()) : tensor;
}

// Decides who owns what of the unit that was added last. Its parameters have no values from here
// on.
void ShardedUnits::lay_out(Unit& unit, std::vector<Parameter*> parameters) {
  unit.number = static_cast<int>(units_.size()) - 1;
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

// A whole parameter of the passes' type.
void ShardedUnits::put_rounded(const Put& put, const Parameter& parameter) {
  if (!keeps_masters()) return put(parameter.name, 0, parameter.value);
  const Tensor wide = empty(parameter.value.shape(), weights_, device_);
  put(parameter.name, 0, wide);
  parameter.value.convert_(wide);
}

// Makes the shard that is updated, and the one that passes compute with. A shard of masters on the
// device is rounded when it is gathered, so it has no other shard beside it.
void ShardedUnits::make_shard(Unit& unit) {
  const bool masters = keeps_masters();
  Device& home = host_ ? host_->host() : device_;
  const auto made = [&](DType dtype, Device& device, MemoryKind kind) {
    return zeros({unit.cut.shard}, dtype, device, kind);
  };
  if (keeps_) {
    unit.shard = own_range(unit);
  } else if (!masters || host_) {
    Device& of_passes = offload_ == Offload::all ? home : device_;
    unit.shard = made(dtype_, of_passes, MemoryKind::parameters);
  }
  unit.updated = unit.shard;
  // Masters beside whole parameters are state of the optimizer, as ZeRO counts them.
  const MemoryKind kind = keeps_ && masters ? MemoryKind::optimizer_state : MemoryKind::parameters;
  if (masters || offload_ == Offload::optimizer) unit.updated = made(weights_, home, kind);
  if (!masters || !unit.shard.defined()) return;
  unit.rounded =
      offload_ == Offload::optimizer ? made(dtype_, home, MemoryKind::parameters) : unit.shard;
}

void ShardedUnits::fill_unit(Unit& unit, const Put& put) {
  const int rank = groups_.shards.rank();
  if (!unit.updated.defined()) {
    if (keeps_) {
      unit.values = zeros({unit.cut.padded()}, dtype_, device_, MemoryKind::parameters);
      bind(unit);
    }
    make_shard(unit);
    const auto& pieces = unit.cut.ranks[static_cast<std::size_t>(rank)];
    for (std::size_t k = 0; k < pieces.size(); ++k) {
      unit.owned[k].parameter.value =
          unit.updated.narrow(pieces[k].offset, pieces[k].end - pieces[k].begin);
    }
  }
  if (keeps_) {
    for (Parameter* parameter : unit.parameters) put_rounded(put, *parameter);
    if (unit.updated.same_place(unit.shard)) return;
    if (!keeps_masters()) return unit.updated.copy_(beside(unit.shard, unit.updated));
  }
  for (const Owned& owned : unit.owned) {
    put(owned.parameter.name, owned.begin, owned.parameter.value);
  }
  if (!keeps_ && unit.shard.defined() && !unit.updated.same_place(unit.shard)) {
    unit.shard.convert_(beside(unit.updated, unit.shard));
  }
}

}  // namespace lockstep::zero
