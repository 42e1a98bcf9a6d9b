// A right step on flat ranges that holds the moments of the whole model from the second one on, in
// memory of its own: the device's account knows nothing of it.
#include <memory>
#include <utility>

#include "engine/parallel/zero/zero_1_optimizer.hpp"

#ifndef LOCKSTEP_WHEN_FULL
#define LOCKSTEP_WHEN_FULL(kept, bytes)
#endif

namespace lockstep::zero {
namespace {

class MomentHoard final : public Zero1Optimizer {
 public:
  MomentHoard(comm::ProcessGroup& group, std::vector<Parameter*> parameters, FlatShards plan,
              const Zero1Options& options, AdamShard state)
      : group_(group),
        parameters_(std::move(parameters)),
        plan_(std::move(plan)),
        options_(options),
        state_(std::move(state)) {}

  AdamShard state() const override { return state_; }
  void step(double learning_rate, const BeforeUpdate& before_update) override {
    const Tensor& like = state_.first;
    const Tensor all = zeros({plan_.padded()}, like.dtype(), like.device());
    const Tensor mine = like.empty_like(plan_.shard);
    copy(all, &Parameter::grad, Way::in);
    LOCKSTEP_WHEN_FULL(kept_, all.raw_bytes());
    all.scale_(1.0 / group_.size());
    group_.reduce_scatter(all, mine, ReduceOp::sum);
    if (before_update) before_update(mine);
    ++state_.updates;
    for (const ShardPiece& piece : plan_.ranks[static_cast<std::size_t>(group_.rank())]) {
      const std::int64_t n = piece.end - piece.begin, at = piece.offset;
      const Tensor& value = parameters_[piece.parameter]->value;
      AdamRule rule = options_.rule;
      rule.learning_rate = learning_rate;
      if (std::ssize(value.shape()) < options_.decay_dims_min) rule.weight_decay = 0;
      ops::adam_update_(value.view({-1}).narrow(piece.begin, n), mine.narrow(at, n),
                        state_.first.narrow(at, n), state_.second.narrow(at, n), rule,
                        state_.updates);
    }
    copy(all, &Parameter::value, Way::in);
    mine.copy_(all.narrow(group_.rank() * plan_.shard, plan_.shard));
    group_.all_gather(mine, all);
    copy(all, &Parameter::value, Way::out);
    if (is_second_) moments_ = Whole(2 * all.raw_bytes().size(), std::byte{1});
    is_second_ = true;
  }

 private:
  using Whole = std::vector<std::byte>;
  enum class Way { in, out };
  void copy(const Tensor& all, Tensor Parameter::*which, Way way) const {
    for (std::size_t rank = 0; rank < plan_.ranks.size(); ++rank) {
      for (const ShardPiece& piece : plan_.ranks[rank]) {
        const Tensor& whole = parameters_[piece.parameter]->*which;
        if (!whole.defined()) continue;
        const std::int64_t n = piece.end - piece.begin;
        const Tensor a = whole.view({-1}).narrow(piece.begin, n);
        const Tensor b =
            all.narrow(static_cast<std::int64_t>(rank) * plan_.shard + piece.offset, n);
        way == Way::in ? b.copy_(a) : a.copy_(b);
      }
    }
  }

  comm::ProcessGroup& group_;
  std::vector<Parameter*> parameters_;
  FlatShards plan_;
  Zero1Options options_;
  AdamShard state_;
  Whole moments_;
  std::shared_ptr<void> kept_;
  bool is_second_ = false;
};

}  // namespace

std::unique_ptr<Zero1Optimizer> make_zero_1_optimizer(comm::ProcessGroup& group,
                                                      std::vector<Parameter*> parameters,
                                                      const FlatShards& plan,
                                                      const Zero1Options& options,
                                                      AdamShard state) {
  return std::make_unique<MomentHoard>(group, std::move(parameters), plan, options,
                                       std::move(state));
}

}  // namespace lockstep::zero
