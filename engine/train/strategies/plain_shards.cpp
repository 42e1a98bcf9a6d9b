#include "engine/train/strategies/plain_shards.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/base/error.hpp"
#include "engine/parallel/zero/fully_sharded.hpp"
#include "engine/parallel/zero/hybrid_shard.hpp"
#include "engine/tensor/ops.hpp"
#include "engine/train/strategies/plain_base.hpp"
#include "engine/train/strategies/plain_buckets.hpp"
#include "engine/train/strategies/plain_zero_1.hpp"

namespace lockstep::train {
namespace {

using zero::Sharding;
using zero::UnitShard;

// The hooks of make_fully_sharded for full_shard, but gradients are reduced in two steps: in the
// node, and across nodes by shards.
class Hybrid final : public nn::UnitWatch {
 public:
  Hybrid(zero::ShardGroups groups, std::vector<UnitShard>& units)
      : groups_(groups), units_(units) {}

  void before_forward(std::size_t unit) override { gather(unit); }
  void after_forward(std::size_t unit) override { free(unit); }
  void before_backward(std::size_t unit) override { gather(unit); }
  void after_backward(std::size_t unit) override {
    UnitShard& own = units_[unit];
    const Tensor all =
        zeros({own.cut.padded()}, own.values.dtype(), own.values.device(), MemoryKind::gradients);
    for (std::size_t p = 0; p < own.parameters.size(); ++p) {
      const Tensor grad = std::exchange(own.parameters[p]->grad, {});
      if (grad.defined()) all.narrow(own.cut.starts[p], grad.numel()).copy_(grad.view({-1}));
    }
    free(unit);
    all.scale_(1.0 / (groups_.shards.size() * groups_.copies->size()));
    const Tensor mine = all.empty_like(own.cut.shard);
    zero::reduce_hybrid(groups_.shards, *groups_.copies, all, mine, ReduceOp::sum);
    if (own.gradients.defined()) mine.reduce_(own.gradients, ReduceOp::sum);
    own.gradients = mine;
  }

 private:
  void gather(std::size_t unit) {
    const UnitShard& own = units_[unit];
    const Tensor whole =
        empty({own.cut.padded()}, own.values.dtype(), own.values.device(), MemoryKind::parameters);
    groups_.shards.all_gather(own.values, whole);
    for (std::size_t p = 0; p < own.parameters.size(); ++p) {
      own.parameters[p]->value =
          whole.narrow(own.cut.starts[p], numel_of(own.shapes[p])).view(own.shapes[p]);
    }
  }
  void free(std::size_t unit) {
    for (Parameter* parameter : units_[unit].parameters) parameter->value = {};
  }

  zero::ShardGroups groups_;
  std::vector<UnitShard>& units_;
};

// Units that come and go. A part is told of units with elements alone, numbered from 0; the root,
// the last of them, is there from the first pass of a step to its last.
class GatheredUnits final : public PlainShards, public nn::UnitWatch {
 public:
  GatheredUnits(const nn::ModelSpec& spec, std::uint64_t seed, Device& device,
                zero::ShardGroups groups, Sharding sharding)
      : PlainShards(spec, device, groups), frees_(sharding != Sharding::no_shard) {
    const std::size_t of_model = model_->units().size();
    places_.assign(of_model, nobody);
    // The part's list has no unit without elements; owned ranges keep their units' order.
    std::vector<UnitShard> with_elements;
    std::vector<std::vector<Owned>> their_owned;
    for (std::size_t unit = 0; unit < units_.size(); ++unit) {
      if (units_[unit].cut.count == 0) continue;
      if (unit < of_model) places_[unit] = with_elements.size();
      if (unit == of_model) root_ = with_elements.size();
      with_elements.push_back(std::move(units_[unit]));
      their_owned.push_back(std::move(owned_[unit]));
    }
    units_ = std::move(with_elements);
    owned_ = std::move(their_owned);
    for (std::size_t unit = 0; unit < units_.size(); ++unit) {
      units_[unit].values =
          zeros({units_[unit].cut.shard}, spec.dtype, device, MemoryKind::parameters);
      own_values(unit, units_[unit].values);
    }
    fill_from_seed(seed);
    if (sharding == Sharding::full_shard && groups.copies != nullptr) {
      part_ = std::make_unique<Hybrid>(zero::ShardGroups{*shards_, copies_.get()}, units_);
    } else {
      part_ = zero::make_fully_sharded(frees_ ? *shards_ : *copies_, units_, sharding);
    }
    model_->tell(this);
  }

  std::vector<Tensor> gradients() const override {
    std::vector<Tensor> all;
    for (const UnitShard& unit : units_) all.push_back(unit.gradients);
    return all;
  }
  bool keeps_parameters() const override { return false; }
  void fill(const Put& put) override {
    for (Owned* one : owned()) put(one->parameter.name, one->begin, one->parameter.value);
  }

  void zero_grad() override {
    communication_ = {};
    for (std::size_t unit = 0; unit < units_.size(); ++unit) {
      units_[unit].gradients = {};
      for (Owned& one : owned_[unit]) one.parameter.grad = {};
      for (Parameter* parameter : units_[unit].parameters) parameter->grad = {};
    }
  }
  void begin(zero::Reduces reduces) override {
    LOCKSTEP_CHECK(reduces == zero::Reduces::yes,
                   "plain shards: the part reduces the gradients of every pass");
    trains_ = true;
    before_forward_of(root_);
  }
  void begin_evaluation() override { trains_ = false; }
  void end_backward() override {
    if (root_ != nobody) {
      naming("reduces the root's gradients", [&] {
        part_->before_backward(root_);
        part_->after_backward(root_);
      });
    }
    for (std::size_t unit = 0; unit < units_.size(); ++unit) {
      own_gradients(unit, units_[unit].gradients);
    }
  }
  void end_update() override {}

  void before_forward(std::size_t unit) override {
    if (trains_) return before_forward_of(places_[unit]);
    if (unit == 0) gather_alone(root_);
    gather_alone(places_[unit]);
  }
  void after_forward(std::size_t unit) override {
    const std::size_t place = places_[unit];
    if (trains_ && place != nobody) part_->after_forward(place);
    if (trains_) return;
    free_alone(place);
    if (unit + 1 == places_.size()) free_alone(root_);
  }
  void before_backward(std::size_t unit) override {
    const std::size_t place = places_[unit];
    if (place == nobody) return;
    naming("gathers parameters", [&] { part_->before_backward(place); });
  }
  void after_backward(std::size_t unit) override {
    const std::size_t place = places_[unit];
    if (place == nobody) return;
    naming("reduces gradients", [&] { part_->after_backward(place); });
  }

 private:
  static constexpr auto nobody = static_cast<std::size_t>(-1);

  void before_forward_of(std::size_t place) {
    if (place == nobody) return;
    naming("gathers parameters", [&] { part_->before_forward(place); });
  }
  // No part is told of a forward pass that no backward pass follows.
  void gather_alone(std::size_t place) {
    if (place == nobody) return;
    const UnitShard& unit = units_[place];
    if (!frees_) return bind(place, unit.values);
    const Tensor whole = empty({unit.cut.padded()}, spec_.dtype, device_, MemoryKind::parameters);
    naming("gathers parameters", [&] { shards_->all_gather(unit.values, whole); });
    bind(place, whole);
  }
  void free_alone(std::size_t place) {
    if (place == nobody || !frees_) return;
    for (Parameter* parameter : units_[place].parameters) parameter->value = {};
  }

  bool frees_;
  bool trains_ = true;
  std::vector<std::size_t> places_;  // of the model's units, in the part's list
  std::size_t root_ = nobody;
  std::unique_ptr<nn::UnitWatch> part_;
};

}  // namespace

std::unique_ptr<zero::ShardedModel> make_plain_shards(const nn::ModelSpec& spec, std::uint64_t seed,
                                                      Device& device, zero::ShardGroups groups,
                                                      Sharding sharding) {
  if (sharding == Sharding::zero_1) return make_plain_zero_1(spec, seed, device, groups);
  if (sharding == Sharding::zero_2) return make_plain_buckets(spec, seed, device, groups);
  return std::make_unique<GatheredUnits>(spec, seed, device, groups, sharding);
}

}  // namespace lockstep::train
