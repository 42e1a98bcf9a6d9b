#include "engine/train/strategies/stage_shards.hpp"

#include <algorithm>
#include <utility>

#include "engine/train/strategies/sharded_state.hpp"

namespace lockstep::train {
namespace {

using Kinds = std::vector<mesh::GradientKind>;
using Units = std::vector<std::vector<Parameter*>>;

// Parameters that the same ranks hold are a unit. What two stages share is then cut alike on both,
// and summed in the same order, so that both make the same of it, bit for bit; so is what every
// rank of a layer has whole.
Units units_by_kind(const std::vector<Parameter*>& parameters, const Layout& layout, Kinds& kinds) {
  Units units;
  for (Parameter* parameter : parameters) {
    const mesh::GradientKind& kind = layout.of(parameter->name).gradient;
    const auto at = std::ranges::find(kinds, kind);
    const auto unit = static_cast<std::size_t>(at - kinds.begin());
    if (at == kinds.end()) {
      units.emplace_back();
      kinds.push_back(kind);
    }
    units[unit].push_back(parameter);
  }
  return units;
}

std::vector<Parameter*> without(const std::vector<Parameter*>& all,
                                const std::vector<Parameter*>& some) {
  std::vector<Parameter*> rest;
  for (Parameter* one : all) {
    if (std::ranges::find(some, one) == some.end()) rest.push_back(one);
  }
  return rest;
}

}  // namespace

StageShards::Group::Group(const TrainingRanks& ranks, const Layout& layout,
                          comm::ProcessGroup& shards, const std::vector<Parameter*>& parameters,
                          DType dtype, Device& device)
    : units(
          [&] {
            Kinds kinds;
            Units by_kind = units_by_kind(parameters, layout, kinds);
            for (const mesh::GradientKind& kind : kinds) {
              counts.push_back(ranks.counts_shard_in_norm(kind));
            }
            return by_kind;
          }(),
          dtype, device, zero::ShardGroups{shards}) {}

StageShards::StageShards(const TrainingRanks& ranks, const std::vector<Parameter*>& parameters,
                         const Layout& layout, DType dtype, Device& device)
    : layout_(layout),
      holders_(ranks.holders()),
      of_experts_(layout.of_experts(parameters)),
      share_of_experts_(static_cast<double>(holders_.size()) / ranks.replicas().size()),
      dense_(ranks, layout, ranks.replicas(), without(parameters, of_experts_), dtype, device) {
  if (!of_experts_.empty()) experts_.emplace(ranks, layout, holders_, of_experts_, dtype, device);
}

std::vector<Parameter*> StageShards::shards() {
  std::vector<Parameter*> all = dense_.units.shards();
  if (!experts_) return all;
  const auto of_experts = experts_->units.shards();
  all.insert(all.end(), of_experts.begin(), of_experts.end());
  return all;
}

Layout StageShards::owned() {
  auto all = dense_.units.owned();
  if (experts_) {
    const auto of_experts = experts_->units.owned();
    all.insert(all.end(), of_experts.begin(), of_experts.end());
  }
  return layout_of(all, layout_);
}

void StageShards::zero_grad() {
  for (Group* group : {&dense_, experts_ ? &*experts_ : nullptr}) {
    if (group == nullptr) continue;
    group->units.zero_grad();
    group->units.begin(zero::Reduces::yes);
  }
}

void StageShards::end_backward() {
  dense_.units.end_backward();
  if (!experts_) return;
  for (const Parameter* parameter : of_experts_) parameter->grad.scale_(share_of_experts_);
  experts_->units.end_backward();
}

void StageShards::end_update() {
  dense_.units.end_update();
  if (experts_) experts_->units.end_update();
}

collectives::Communication StageShards::communication() const {
  collectives::Communication all = dense_.units.communication();
  if (experts_) all += experts_->units.communication();
  return all;
}

std::int64_t StageShards::bytes_sent_for_experts() const {
  return experts_ ? holders_.traffic().bytes_sent : 0;
}

void StageShards::add_gradients(std::vector<Tensor>& counted, std::vector<Tensor>& copies) const {
  for (const Group* group : {&dense_, experts_ ? &*experts_ : nullptr}) {
    if (group == nullptr) continue;
    const std::vector<Tensor> of_units = group->units.gradients();
    for (std::size_t i = 0; i < of_units.size(); ++i) {
      (group->counts[i] ? counted : copies).push_back(of_units[i]);
    }
  }
}

}  // namespace lockstep::train
