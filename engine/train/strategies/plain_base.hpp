// The part that both plain forms of sharded state share (plain_shards.hpp): the units' parameters,
// their cuts, and the ranges of them that this rank owns.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/error.hpp"
#include "engine/parallel/zero/fully_sharded.hpp"
#include "engine/parallel/zero/sharded_model.hpp"
#include "engine/tensor/symbolic.hpp"

namespace lockstep::train {

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
  const collectives::Communication& communication() const override { return communication_; }

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
      zero::UnitShard& unit = units_.emplace_back();
      std::vector<std::int64_t> numels;
      for (Parameter* parameter : parameters) {
        unit.shapes.push_back(parameter->value.shape());
        numels.push_back(parameter->value.numel());
        parameter->value = {};
      }
      unit.parameters = std::move(parameters);
      unit.cut = zero::flat_shards(numels, shards_->size());
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
    const zero::UnitShard& own = units_[unit];
    for (std::size_t p = 0; p < own.parameters.size(); ++p) {
      const std::int64_t numel = numel_of(own.shapes[p]);
      own.parameters[p]->value = whole.narrow(own.cut.starts[p], numel).view(own.shapes[p]);
    }
  }
  void fill_from_seed(std::uint64_t seed) {
    zero::for_each_unit_made(spec_, device_, seed, [&](const zero::Values& values) {
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
  collectives::Communication communication_;
  std::unique_ptr<comm::ProcessGroup> shards_, copies_;  // timed
  std::size_t rank_;                                     // in shards_
  SymbolicDevice nowhere_;                               // of parameters that have no value
  std::unique_ptr<nn::Chain> model_;
  std::vector<zero::UnitShard> units_;  // of the model, then the root where there is one
  std::vector<std::vector<Owned>> owned_;
};

}  // namespace lockstep::train
