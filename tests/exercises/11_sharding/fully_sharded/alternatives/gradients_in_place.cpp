// Backward makes gradients where they are reduced (Parameter::grad_place), reductions run while the
// next unit computes, and the last unit is gathered anew for its backward pass.
#include <utility>

#include "engine/parallel/zero/fully_sharded.hpp"

namespace lockstep::zero {
namespace {

class InPlace final : public nn::UnitWatch {
 public:
  InPlace(comm::ProcessGroup& group, std::vector<UnitShard>& units, Sharding sharding)
      : group_(group), units_(units), sharding_(sharding) {}

  void before_forward(std::size_t unit) override { bring(units_[unit]); }
  void after_forward(std::size_t unit) override {
    if (sharding_ == Sharding::full_shard) drop(units_[unit]);
  }
  void before_backward(std::size_t unit) override {
    UnitShard& own = units_[unit];
    bring(own);
    places_ =
        zeros({own.cut.padded()}, own.values.dtype(), own.values.device(), MemoryKind::gradients);
    for (std::size_t p = 0; p < own.parameters.size(); ++p) {
      own.parameters[p]->grad_place = view(places_, own, p);
    }
  }
  void after_backward(std::size_t unit) override {
    finish();
    UnitShard& own = units_[unit];
    for (Parameter* parameter : own.parameters) parameter->grad = parameter->grad_place = {};
    places_.scale_(1.0 / group_.size());
    busy_ = std::exchange(places_, {});
    reduced_ = &own;
    if (sharding_ == Sharding::no_shard) {
      incoming_ = busy_;
      work_ = group_.all_reduce_async(busy_, ReduceOp::sum);
    } else {
      drop(own);
      incoming_ = busy_.empty_like(own.cut.shard);
      work_ = group_.reduce_scatter_async(busy_, incoming_, ReduceOp::sum);
    }
    if (unit == 0) finish();  // the step may end here
  }

 private:
  static Tensor view(const Tensor& flat, const UnitShard& own, std::size_t p) {
    return flat.narrow(own.cut.starts[p], numel_of(own.shapes[p])).view(own.shapes[p]);
  }
  void bring(UnitShard& own) {
    for (Parameter* parameter : own.parameters) {
      if (parameter->value.defined()) return;
    }
    Tensor flat = own.values;
    if (sharding_ != Sharding::no_shard) {
      flat = own.values.empty_like(own.cut.padded());
      group_.all_gather_async(own.values, flat).wait();
    }
    for (std::size_t p = 0; p < own.parameters.size(); ++p) {
      own.parameters[p]->value = view(flat, own, p);
    }
  }
  static void drop(UnitShard& own) {
    for (Parameter* parameter : own.parameters) parameter->value = {};
  }
  void finish() {
    if (reduced_ == nullptr) return;
    work_.wait();
    UnitShard& own = *std::exchange(reduced_, nullptr);
    if (own.gradients.defined()) {
      own.gradients.reduce_(incoming_, ReduceOp::sum);
    } else {
      own.gradients = incoming_;
    }
    incoming_ = busy_ = {};
  }

  comm::ProcessGroup& group_;
  std::vector<UnitShard>& units_;
  Sharding sharding_;
  Tensor places_;           // of the unit that goes back
  Tensor busy_, incoming_;  // of the one behind it
  UnitShard* reduced_ = nullptr;
  comm::Work work_;
};

}  // namespace

std::unique_ptr<nn::UnitWatch> make_fully_sharded(comm::ProcessGroup& group,
                                                  std::vector<UnitShard>& units,
                                                  Sharding sharding) {
  return std::make_unique<InPlace>(group, units, sharding);
}

}  // namespace lockstep::zero
