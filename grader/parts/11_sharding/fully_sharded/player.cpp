// Plays fully_sharded: forward and backward passes of units whose computation is the judge's, and
// an update of this rank's ranges after each step.
#include "grader/parts/11_sharding/fully_sharded/case.hpp"

#include <algorithm>
#include <deque>
#include <functional>
#include <utility>

#include "engine/comm/group_in_front.hpp"
#include "grader/play/ask.hpp"
#include "grader/play/gradients.hpp"
#include "grader/play/ranks_play.hpp"

namespace lockstep::grader {
namespace {

using Kind = UnitCall::Kind;

// The case's group, in front of which somebody is told of each all-gather that begins.
class ToldGroup final : public comm::GroupInFront {
 public:
  ToldGroup(comm::ProcessGroup& inner, std::function<void()> tell)
      : GroupInFront(inner), tell_(std::move(tell)) {}

 protected:
  comm::Work start(const comm::Collective& collective, const comm::Where& where) override {
    if (collective.kind == comm::CollectiveKind::all_gather) tell_();
    return GroupInFront::start(collective, where);
  }
  void run(const comm::Collective& collective, const comm::Where& where) override {
    if (collective.kind == comm::CollectiveKind::all_gather) tell_();
    GroupInFront::run(collective, where);
  }

 private:
  std::function<void()> tell_;
};

class ShardedModel {
 public:
  ShardedModel(const ShardedCase& c, Device& device, sim::Port& port)
      : c_(c), device_(device), port_(port) {
    for (const ShardedUnitCase& of : c.units) {
      zero::UnitShard& unit = units_.emplace_back();
      for (const std::int64_t size : of.sizes) {
        Parameter& parameter = parameters_.emplace_back();
        parameter.name = text("parameter ", parameters_.size() - 1);
        unit.parameters.push_back(&parameter);
        unit.shapes.push_back(shape_of_parameter(size));
      }
      unit.cut = of.cut;
      unit.values = made_of(of.values, {unit.cut.shard}, MemoryKind::parameters);
    }
    own_bytes_ = device.bytes_now();
    whole_at_gather_.resize(units_.size());
  }

  ShardedReport train(comm::ProcessGroup& inner) {
    ToldGroup group(inner, [this] { note_gather(); });
    const auto watch = zero::make_fully_sharded(group, units_, c_.sharding);
    for (std::uint32_t step = 0; step < c_.steps; ++step) {
      for (std::uint32_t pass = 0; pass < c_.passes; ++pass) go_through(*watch);
      update();
    }
    return std::move(report_);
  }

 private:
  void go_through(nn::UnitWatch& watch) {
    device_.reset_peak();
    for (std::size_t unit = 0; unit < units_.size(); ++unit) {
      watch.before_forward(unit);
      show(Kind::forward, unit);
      watch.after_forward(unit);
    }
    for (std::size_t unit = units_.size(); unit-- > 0;) {
      watch.before_backward(unit);
      make_gradients(unit, show(Kind::backward, unit));
      watch.after_backward(unit);
    }
  }

  std::vector<std::uint8_t> whole_units() const {
    const auto has_value = [](const Parameter* one) { return one->value.defined(); };
    std::vector<std::uint8_t> whole;
    for (const zero::UnitShard& unit : units_) {
      whole.push_back(std::ranges::any_of(unit.parameters, has_value) ? 1 : 0);
    }
    return whole;
  }
  void note_gather() {
    const auto whole = whole_units();
    for (std::size_t unit = 0; unit < whole.size(); ++unit) whole_at_gather_[unit] |= whole[unit];
  }

  UnitAnswer show(Kind kind, std::size_t unit) {
    UnitCall call{.kind = kind, .unit = static_cast<std::uint32_t>(unit)};
    call.whole = whole_units();
    call.whole_at_gather =
        std::exchange(whole_at_gather_, std::vector<std::uint8_t>(units_.size()));
    call.now_bytes = device_.bytes_now() - own_bytes_;
    call.most_bytes = device_.bytes_peak() - own_bytes_;
    if (kind == Kind::update) {
      tell(port_, call);
      return {};
    }
    for (std::size_t p = 0; p < units_[unit].parameters.size(); ++p) {
      const Tensor& value = units_[unit].parameters[p]->value;
      const bool right =
          value.defined() && value.shape() == units_[unit].shapes[p] && value.dtype() == c_.dtype;
      call.there.push_back(right             ? UnitCall::right_shape
                           : value.defined() ? UnitCall::other_shape
                                             : UnitCall::no_value);
      call.values.push_back(right ? copy_of(value) : Bytes{});
    }
    device_.reset_peak();
    return ask<UnitAnswer>(port_, call);
  }

  // As Tape::backward makes the gradient of a leaf.
  void make_gradients(std::size_t unit, const UnitAnswer& answer) {
    for (std::size_t p = 0; p < units_[unit].parameters.size(); ++p) {
      if (!answer.made.at(p)) continue;
      Parameter& parameter = *units_[unit].parameters[p];
      const Tensor made =
          made_of(answer.gradients.at(p), units_[unit].shapes[p], MemoryKind::gradients);
      if (parameter.grad.defined()) {
        parameter.grad.reduce_(made, ReduceOp::sum);
      } else if (parameter.grad_place.defined()) {
        parameter.grad_place.copy_(made);
        parameter.grad = parameter.grad_place;
      } else {
        parameter.grad = made;
      }
    }
  }

  void update() {
    show(Kind::update, 0);
    auto& gradients = report_.gradients.emplace_back();
    std::uint64_t& left = report_.left.emplace_back();
    for (const Parameter& parameter : parameters_) left += parameter.grad.defined() ? 1 : 0;
    for (zero::UnitShard& unit : units_) {
      gradients.push_back(unit.gradients.defined() ? copy_of(unit.gradients) : Bytes{});
      if (!unit.gradients.defined()) continue;
      if (unit.gradients.numel() != unit.values.numel()) {
        throw Error(text(wrong_size_left, unit.gradients.numel(), " gradients where this rank has ",
                         unit.values.numel(), " elements of the unit"));
      }
      unit.gradients.scale_(-c_.rate);
      unit.values.reduce_(unit.gradients, ReduceOp::sum);
      unit.gradients = {};
    }
  }

  Tensor made_of(const Bytes& numbers, const Shape& shape, MemoryKind kind) const {
    const Tensor made = empty(shape, c_.dtype, device_, kind);
    write_bytes(made, numbers);
    return made;
  }

  const ShardedCase& c_;
  Device& device_;
  sim::Port& port_;
  std::deque<Parameter> parameters_;  // of all units; they stay where they are
  std::vector<zero::UnitShard> units_;
  std::int64_t own_bytes_ = 0;
  std::vector<std::uint8_t> whole_at_gather_;  // by unit, since the last pass
  ShardedReport report_;
};

}  // namespace

Bytes play(sim::PlayerCase& played) {
  return play_in_group<ShardedCase>(
      played, [](comm::ProcessGroup& group, const ShardedCase& c, Device& device, sim::Port& port) {
        return ShardedModel(c, device, port).train(group);
      });
}

}  // namespace lockstep::grader
