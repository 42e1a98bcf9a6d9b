// The plain forms of sharded state in which every rank has all parameters: ZeRO 1 and 2. A unit's
// parameters are views of one tensor, in which the ranges of all ranks lie one after the other.
#pragma once

#include "engine/train/strategies/plain_base.hpp"

namespace lockstep::train {

class WholeParameters : public PlainShards {
 public:
  bool keeps_parameters() const override { return true; }
  void fill(const Put& put) override {
    for (Parameter* parameter : parameters()) put(parameter->name, 0, parameter->value);
  }
  void begin_evaluation() override {}
  void zero_grad() override {
    communication_ = {};
    for (Owned* one : owned()) one->parameter.grad = {};
    for (Parameter* parameter : parameters()) parameter->grad = {};
  }

 protected:
  WholeParameters(const nn::ModelSpec& spec, std::uint64_t seed, Device& device,
                  zero::ShardGroups groups)
      : PlainShards(spec, device, groups) {
    for (std::size_t unit = 0; unit < units_.size(); ++unit) {
      whole_.push_back(
          zeros({units_[unit].cut.padded()}, spec.dtype, device, MemoryKind::parameters));
      bind(unit, whole_[unit]);
      own_values(unit, range_of(unit));
    }
    fill_from_seed(seed);
  }

  // This rank's range of a unit's parameters.
  Tensor range_of(std::size_t unit) const {
    const std::int64_t size = units_[unit].cut.shard;
    return whole_[unit].narrow(static_cast<std::int64_t>(rank_) * size, size);
  }
  // Unit by unit, the root's last.
  std::vector<Parameter*> parameters() const {
    std::vector<Parameter*> all;
    for (const zero::UnitShard& unit : units_) {
      all.insert(all.end(), unit.parameters.begin(), unit.parameters.end());
    }
    return all;
  }

  std::vector<Tensor> whole_;  // [N·S] by unit
};

}  // namespace lockstep::train
