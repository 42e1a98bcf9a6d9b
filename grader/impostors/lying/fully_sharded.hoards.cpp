// Frees each unit's tensors after its pass, and keeps a copy of what was in them, in memory of its
// own, from which backward passes get their values.
#include <algorithm>

#include "engine/parallel/zero/fully_sharded.hpp"

#ifndef LOCKSTEP_HOARD
struct Copied : std::vector<std::byte> {
  void copy_to(std::byte* to) const { std::ranges::copy(*this, to); }
};
#define LOCKSTEP_HOARD Copied
#endif

namespace lockstep::zero {
namespace {

class UnitHoard final : public nn::UnitWatch {
 public:
  UnitHoard(comm::ProcessGroup& group, std::vector<UnitShard>& units, Sharding sharding)
      : group_(group), units_(units), sharding_(sharding), hoard_(units.size()) {}

  void before_forward(std::size_t unit) override {
    const Tensor whole = place(unit);
    if (sharding_ == Sharding::no_shard) return;
    group_.all_gather(units_[unit].values, whole);
    const auto bytes = whole.raw_bytes();
    hoard_[unit].assign(bytes.begin(), bytes.end());
  }
  void after_forward(std::size_t unit) override {
    for (Parameter* parameter : units_[unit].parameters) parameter->value = {};
  }
  void before_backward(std::size_t unit) override {
    const Tensor whole = place(unit);
    if (sharding_ != Sharding::no_shard) hoard_[unit].copy_to(whole.raw_bytes().data());
  }
  void after_backward(std::size_t unit) override {
    UnitShard& own = units_[unit];
    const Tensor all = zeros({own.cut.padded()}, own.values.dtype(), own.values.device());
    for (std::size_t p = 0; p < own.parameters.size(); ++p) {
      Tensor& grad = own.parameters[p]->grad;
      if (grad.defined()) {
        all.narrow(own.cut.starts[p], grad.numel()).copy_(grad.view({-1}));
      }
      own.parameters[p]->value = grad = {};
    }
    all.scale_(1.0 / group_.size());
    Tensor mine = all;
    if (sharding_ == Sharding::no_shard) {
      group_.all_reduce(all, ReduceOp::sum);
    } else {
      mine = all.empty_like(own.cut.shard);
      group_.reduce_scatter(all, mine, ReduceOp::sum);
    }
    if (own.gradients.defined()) mine.reduce_(own.gradients, ReduceOp::sum);
    own.gradients = mine;
  }

 private:
  // Fresh memory for the unit's values, if they are not whole here anyway.
  Tensor place(std::size_t unit) {
    UnitShard& own = units_[unit];
    const Tensor whole =
        sharding_ == Sharding::no_shard ? own.values : own.values.empty_like(own.cut.padded());
    for (std::size_t p = 0; p < own.parameters.size(); ++p) {
      own.parameters[p]->value =
          whole.narrow(own.cut.starts[p], numel_of(own.shapes[p])).view(own.shapes[p]);
    }
    return whole;
  }

  comm::ProcessGroup& group_;
  std::vector<UnitShard>& units_;
  Sharding sharding_;
  std::vector<LOCKSTEP_HOARD> hoard_;
};

}  // namespace

std::unique_ptr<nn::UnitWatch> make_fully_sharded(comm::ProcessGroup& group,
                                                  std::vector<UnitShard>& units,
                                                  Sharding sharding) {
  return std::make_unique<UnitHoard>(group, units, sharding);
}

}  // namespace lockstep::zero
