#include "engine/train/strategies/stage_reducers.hpp"

#include <algorithm>

namespace lockstep::train {
namespace {

// Buckets for gradients that come last chunk first, and in a chunk last parameter first.
collectives::BucketPlan plan_of(const std::vector<Parameter*>& parameters,
                                const ddp::BucketLimits& limits) {
  std::vector<ddp::ParamInfo> infos;
  for (const Parameter* parameter : parameters) {
    infos.push_back({parameter->value.numel(), parameter->value.dtype()});
  }
  std::ranges::reverse(infos);
  collectives::BucketPlan plan = ddp::assign_buckets(infos, limits);
  for (auto& bucket : plan.buckets) {
    for (std::size_t& index : bucket) index = parameters.size() - 1 - index;
  }
  return plan;
}

}  // namespace

StageReducers::StageReducers(const TrainingRanks& ranks, const std::vector<Parameter*>& parameters,
                             const Layout& layout, const ddp::BucketLimits& limits,
                             collectives::CommHook& hook)
    : holders_(ranks.holders()) {
  const std::vector<Parameter*> experts = layout.of_experts(parameters);
  std::vector<Parameter*> dense;
  std::vector<std::ptrdiff_t> among_experts;
  for (Parameter* parameter : parameters) {
    const auto at = std::ranges::find(experts, parameter);
    among_experts.push_back(at == experts.end() ? -1 : at - experts.begin());
    if (at == experts.end()) dense.push_back(parameter);
  }
  const ddp::Reduction mean{1.0 / ranks.replicas().size(), &hook};
  dense_ = ddp::make_bucketed_reducer(ranks.replicas(), dense, plan_of(dense, limits), mean);
  if (!experts.empty()) {
    experts_ = ddp::make_bucketed_reducer(holders_, experts, plan_of(experts, limits), mean);
  }
  std::size_t next = 0;
  for (const std::ptrdiff_t expert : among_experts) {
    places_.push_back(expert < 0 ? std::pair(dense_.get(), next++)
                                 : std::pair(experts_.get(), static_cast<std::size_t>(expert)));
  }
}

void StageReducers::on_gradient_ready(std::size_t index) {
  const auto [reducer, place] = places_[index];
  reducer->on_gradient_ready(place);
}

void StageReducers::finalize() {
  dense_->finalize();
  if (experts_) experts_->finalize();
}

std::int64_t StageReducers::bytes_sent_for_experts() const {
  return experts_ ? holders_.traffic().bytes_sent : 0;
}

}  // namespace lockstep::train
