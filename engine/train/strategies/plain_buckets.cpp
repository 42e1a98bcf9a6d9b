#include "engine/train/strategies/plain_buckets.hpp"

#include <algorithm>

#include "engine/parallel/zero/zero_2_gradients.hpp"
#include "engine/train/strategies/plain_whole.hpp"

namespace lockstep::train {
namespace {

using zero::FlatShards;

// Gradients of which a rank keeps its range. A bucket is a unit; the last unit's comes first, and
// the root's last.
class BucketsOfUnits final : public WholeParameters {
 public:
  BucketsOfUnits(const nn::ModelSpec& spec, std::uint64_t seed, Device& device,
                 zero::ShardGroups groups)
      : WholeParameters(spec, seed, device, groups) {
    const std::vector<Parameter*> all = parameters();
    std::vector<std::vector<std::size_t>> members;  // by unit
    std::size_t next = 0;
    for (const zero::UnitShard& unit : units_) {
      members.emplace_back(unit.parameters.size());
      for (std::size_t& member : members.back()) member = next++;
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
    came_.assign(all.size(), 0);
    for (std::size_t i = 0; i < all.size(); ++i) {
      all[i]->hooks.emplace_back([this, i](Parameter&) { ready(i); });
    }
    part_ = zero::make_zero_2_gradients(*shards_, all, plan, std::move(cuts), spec.dtype);
  }

  std::vector<Tensor> gradients() const override {
    std::vector<Tensor> all;
    for (std::size_t b = 0; b < unit_of_bucket_.size(); ++b) all.push_back(part_->sum(b));
    return all;
  }
  void zero_grad() override {
    part_->zero_grad();
    WholeParameters::zero_grad();
  }
  void begin(zero::Reduces reduces) override {
    reduces_ = reduces == zero::Reduces::yes;
    std::ranges::fill(came_, 0);
  }
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
  void ready(std::size_t index) {
    came_[index] = 1;
    if (!reduces_) return;
    naming("reduces gradients", [&] { part_->on_gradient_ready(index); });
  }

  std::vector<std::size_t> unit_of_bucket_;
  std::vector<char> came_;  // by parameter, in this pass
  bool reduces_ = true;
  std::unique_ptr<zero::ShardedGradients> part_;
};

}  // namespace

std::unique_ptr<zero::ShardedModel> make_plain_buckets(const nn::ModelSpec& spec,
                                                       std::uint64_t seed, Device& device,
                                                       zero::ShardGroups groups) {
  return std::make_unique<BucketsOfUnits>(spec, seed, device, groups);
}

}  // namespace lockstep::train
