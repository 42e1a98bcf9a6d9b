#include "engine/train/strategies/plain_shards.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/base/error.hpp"
#include "engine/parallel/zero/fully_sharded.hpp"
#include "engine/parallel/zero/hybrid_shard.hpp"
#include "engine/parallel/zero/zero_2_gradients.hpp"
#include "engine/tensor/ops.hpp"
#include "engine/tensor/symbolic.hpp"

namespace lockstep::train {
namespace {

using collectives::Communication;
using zero::FlatShards;
using zero::Sharding;
using zero::UnitShard;
using zero::Values;

std::vector<std::int64_t> numels_of(const std::vector<Shape>& shapes) {
  std::vector<std::int64_t> numels;
  for (const Shape& shape : shapes) numels.push_back(numel_of(shape));
  return numels;
}

// The units' parameters, their cuts, and the ranges of them that this rank owns: what both forms
// have.
class PlainShards : public zero::ShardedModel {
 public:
  nn::Chain& model() override { return *model_; }
  std::vector<Owned*> owned() override {
    std::vector<Owned*> all;
    for (auto& unit : owned_) {
      for (Owned& one : unit) all.push_back(&one);
    }
    return all;
  }
  bool keeps_masters() const override { return false; }
  const Communication& communication() const override { return communication_; }

 protected:
  PlainShards(const nn::ModelSpec& spec, Device& device, zero::ShardGroups groups)
      : spec_(spec),
        device_(device),
        shards_(collectives::make_timed_group(groups.shards, communication_)),
        rank_(static_cast<std::size_t>(groups.shards.rank())) {
    if (groups.copies != nullptr) {
      copies_ = collectives::make_timed_group(*groups.copies, communication_);
    }
    model_ = nn::make_units(spec, nowhere_, 0, {0, nn::unit_count(spec)});
    LOCKSTEP_CHECK(model_->buffers().empty(),
                   "plain shards: a model with buffers, which have no place in a shard yet");
    for (std::vector<Parameter*>& parameters : zero::parameters_by_unit(*model_, spec)) {
      UnitShard& unit = units_.emplace_back();
      for (Parameter* parameter : parameters) {
        unit.shapes.push_back(parameter->value.shape());
        parameter->value = {};
      }
      unit.parameters = std::move(parameters);
      unit.cut = zero::flat_shards(numels_of(unit.shapes), shards_->size());
      std::vector<Owned>& owned = owned_.emplace_back();
      for (const zero::ShardPiece& piece : unit.cut.ranks[rank_]) {
        Owned& one = owned.emplace_back();
        one.parameter.name = unit.parameters[piece.parameter]->name;
        one.parameter.whole = unit.shapes[piece.parameter];
        one.begin = piece.begin, one.end = piece.end;
      }
    }
  }

  // This rank's piece k of a unit, in a tensor that is laid out as its range.
  Tensor piece_of(const Tensor& range, std::size_t unit, std::size_t k) const {
    const zero::ShardPiece& piece = units_[unit].cut.ranks[rank_][k];
    return range.narrow(piece.offset, piece.end - piece.begin);
  }
  void own_values(std::size_t unit, const Tensor& range) {
    for (std::size_t k = 0; k < owned_[unit].size(); ++k) {
      owned_[unit][k].parameter.value = piece_of(range, unit, k);
    }
  }
  void own_gradients(std::size_t unit, const Tensor& range) {
    for (std::size_t k = 0; k < owned_[unit].size(); ++k) {
      owned_[unit][k].parameter.grad = piece_of(range, unit, k);
    }
  }
  // The parameters' values, views of the whole unit.
  void bind(std::size_t unit, const Tensor& whole) {
    const UnitShard& own = units_[unit];
    for (std::size_t p = 0; p < own.parameters.size(); ++p) {
      const std::int64_t numel = numel_of(own.shapes[p]);
      own.parameters[p]->value = whole.narrow(own.cut.starts[p], numel).view(own.shapes[p]);
    }
  }
  void fill_from_seed(std::uint64_t seed) {
    zero::for_each_unit_made(spec_, device_, seed, [&](const Values& values) {
      const Put put = zero::put_from(values);
      fill([&](const std::string& name, std::int64_t begin, const Tensor& into) {
        if (values.contains(name)) put(name, begin, into);
      });
    });
  }
  // Says of a peer that is lost what this rank does.
  template <typename Call>
  void naming(const char* does, const Call& call) {
    try {
      call();
    } catch (const CommError& error) {
      throw CommError(text("sharded state: ", shards_->own_name(), " ", does, ": ", error.what()));
    }
  }

  nn::ModelSpec spec_;
  Device& device_;
  Communication communication_;
  std::unique_ptr<comm::ProcessGroup> shards_, copies_;  // timed
  std::size_t rank_;                                     // in shards_
  SymbolicDevice nowhere_;                               // of parameters that have no value
  std::unique_ptr<nn::Chain> model_;
  std::vector<UnitShard> units_;  // of the model, then the root where there is one
  std::vector<std::vector<Owned>> owned_;
};

// What make_fully_sharded does for full_shard, but that gradients are reduced in two steps: in the
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

// Whole parameters, and gradients of which a rank keeps its range. A bucket is a unit; the last
// unit's comes first, and the root's last.
class BucketsOfUnits final : public PlainShards {
 public:
  BucketsOfUnits(const nn::ModelSpec& spec, std::uint64_t seed, Device& device,
                 zero::ShardGroups groups)
      : PlainShards(spec, device, groups) {
    std::vector<Parameter*> parameters;
    std::vector<std::vector<std::size_t>> members;  // by unit
    for (std::size_t unit = 0; unit < units_.size(); ++unit) {
      const UnitShard& own = units_[unit];
      whole_.push_back(zeros({own.cut.padded()}, spec.dtype, device, MemoryKind::parameters));
      bind(unit, whole_[unit]);
      own_values(unit, range_of(unit));
      members.emplace_back();
      for (Parameter* parameter : own.parameters) {
        members[unit].push_back(parameters.size());
        parameters.push_back(parameter);
      }
    }
    const std::size_t of_model = model_->units().size();
    collectives::BucketPlan plan;
    std::vector<FlatShards> cuts;
    const auto add_bucket = [&](std::size_t unit) {
      if (units_[unit].cut.count == 0) return;
      plan.buckets.push_back(members[unit]);
      cuts.push_back(units_[unit].cut);
      unit_of_bucket_.push_back(unit);
    };
    for (std::size_t unit = of_model; unit-- > 0;) add_bucket(unit);
    if (units_.size() > of_model) add_bucket(of_model);
    fill_from_seed(seed);
    came_.assign(parameters.size(), 0);
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      parameters[i]->hooks.emplace_back([this, i](Parameter&) { ready(i); });
    }
    part_ = zero::make_zero_2_gradients(*shards_, parameters, plan, std::move(cuts), spec.dtype);
  }

  std::vector<Tensor> gradients() const override {
    std::vector<Tensor> all;
    for (std::size_t b = 0; b < unit_of_bucket_.size(); ++b) all.push_back(part_->sum(b));
    return all;
  }
  bool keeps_parameters() const override { return true; }
  void fill(const Put& put) override {
    for (const UnitShard& unit : units_) {
      for (Parameter* parameter : unit.parameters) put(parameter->name, 0, parameter->value);
    }
  }

  void zero_grad() override {
    communication_ = {};
    part_->zero_grad();
    for (std::size_t unit = 0; unit < units_.size(); ++unit) {
      for (Owned& one : owned_[unit]) one.parameter.grad = {};
      for (Parameter* parameter : units_[unit].parameters) parameter->grad = {};
    }
  }
  void begin(zero::Reduces reduces) override {
    reduces_ = reduces == zero::Reduces::yes;
    std::ranges::fill(came_, 0);
  }
  void begin_evaluation() override {}
  void end_backward() override {
    if (!reduces_) return;
    for (std::size_t i = 0; i < came_.size(); ++i) {
      if (came_[i] == 0) ready(i);  // the loss did not need it
    }
    naming("reduces gradients", [&] { part_->finalize(); });
    for (std::size_t b = 0; b < unit_of_bucket_.size(); ++b) {
      own_gradients(unit_of_bucket_[b], part_->sum(b));
    }
  }
  void end_update() override {
    for (std::size_t unit = 0; unit < units_.size(); ++unit) {
      if (units_[unit].cut.count == 0) continue;
      naming("gathers parameters", [&] { shards_->all_gather(range_of(unit), whole_[unit]); });
    }
  }

 private:
  Tensor range_of(std::size_t unit) const {
    const std::int64_t size = units_[unit].cut.shard;
    return whole_[unit].narrow(static_cast<std::int64_t>(rank_) * size, size);
  }
  void ready(std::size_t index) {
    came_[index] = 1;
    if (!reduces_) return;
    naming("reduces gradients", [&] { part_->on_gradient_ready(index); });
  }

  std::vector<Tensor> whole_;  // [N·S] by unit
  std::vector<std::size_t> unit_of_bucket_;
  std::vector<char> came_;  // by parameter, in this pass
  bool reduces_ = true;
  std::unique_ptr<zero::ShardedGradients> part_;
};

}  // namespace

std::unique_ptr<zero::ShardedModel> make_plain_shards(const nn::ModelSpec& spec, std::uint64_t seed,
                                                      Device& device, zero::ShardGroups groups,
                                                      Sharding sharding) {
  LOCKSTEP_CHECK(
      sharding != Sharding::zero_1,
      "plain shards: the part of ZeRO 1 makes the update as well, which is the caller's");
  if (sharding == Sharding::zero_2) {
    return std::make_unique<BucketsOfUnits>(spec, seed, device, groups);
  }
  return std::make_unique<GatheredUnits>(spec, seed, device, groups, sharding);
}

}  // namespace lockstep::train
