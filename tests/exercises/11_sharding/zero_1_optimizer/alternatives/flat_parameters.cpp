// The parameters lie in one flat tensor from the beginning, range after range, wherever the plan is
// one of ranges: what is gathered is in its place, and nothing is copied back. A range is updated
// in the flat tensor, with a copy of the rule for each piece. The group averages, in a copy of its
// own.
#include <utility>

#include "engine/parallel/zero/zero_1_optimizer.hpp"

namespace lockstep::zero {
namespace {

class Flat final : public Zero1Optimizer {
 public:
  Flat(comm::ProcessGroup& group, std::vector<Parameter*> parameters, FlatShards plan,
       const Zero1Options& options, AdamShard state)
      : group_(group),
        parameters_(std::move(parameters)),
        plan_(std::move(plan)),
        options_(options),
        state_(std::move(state)) {
    if (!plan_.in_order()) return;
    const Tensor& like = state_.first;
    values_ = zeros({plan_.padded()}, like.dtype(), like.device(), MemoryKind::parameters);
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      Tensor& value = parameters_[i]->value;
      const Tensor view = values_.narrow(plan_.starts[i], value.numel()).view(value.shape());
      view.copy_(value);
      value = view;
    }
  }

  AdamShard state() const override {
    return {state_.first.clone(), state_.second.clone(), state_.updates};
  }

  void step(double learning_rate, const BeforeUpdate& before_update) override {
    const Tensor& like = state_.first;
    const std::int64_t s = plan_.shard, mine = group_.rank() * s;
    const Tensor flat = zeros({plan_.padded()}, like.dtype(), like.device());
    if (plan_.in_order()) {
      for (std::size_t i = 0; i < parameters_.size(); ++i) {
        const Tensor& grad = parameters_[i]->grad;
        if (grad.defined()) {
          flat.narrow(plan_.starts[i], grad.numel()).copy_(grad.view({-1}));
        }
      }
    } else {
      exchange(flat, &Parameter::grad, Way::in);
    }
    const Tensor own = flat.narrow(mine, s);  // reduced where it lies
    comm::Work reduction = group_.reduce_scatter_async(flat, own, ReduceOp::average);
    reduction.wait();
    if (before_update) before_update(own);
    ++state_.updates;
    for (const ShardPiece& piece : plan_.ranks[static_cast<std::size_t>(group_.rank())]) {
      const std::int64_t n = piece.end - piece.begin;
      const Tensor& value = parameters_[piece.parameter]->value;
      AdamRule rule = options_.rule;
      rule.learning_rate = learning_rate;
      if (static_cast<int>(value.shape().size()) < options_.decay_dims_min) rule.weight_decay = 0;
      ops::adam_update_(value.view({-1}).narrow(piece.begin, n), own.narrow(piece.offset, n),
                        state_.first.narrow(piece.offset, n), state_.second.narrow(piece.offset, n),
                        rule, state_.updates);
    }
    if (plan_.in_order()) return group_.all_gather(values_.narrow(mine, s), values_);
    exchange(flat, &Parameter::value, Way::in);
    group_.all_gather(flat.narrow(mine, s), flat);
    exchange(flat, &Parameter::value, Way::out);
  }

 private:
  enum class Way { in, out };
  void exchange(const Tensor& flat, Tensor Parameter::*which, Way way) const {
    std::int64_t range = 0;
    for (const auto& pieces : plan_.ranks) {
      for (const ShardPiece& piece : pieces) {
        const Tensor& whole = parameters_[piece.parameter]->*which;
        if (!whole.defined()) continue;
        const std::int64_t n = piece.end - piece.begin;
        const Tensor part = whole.view({-1}).narrow(piece.begin, n);
        const Tensor there = flat.narrow(range + piece.offset, n);
        way == Way::in ? there.copy_(part) : part.copy_(there);
      }
      range += plan_.shard;
    }
  }

  comm::ProcessGroup& group_;
  std::vector<Parameter*> parameters_;
  FlatShards plan_;
  Zero1Options options_;
  AdamShard state_;
  Tensor values_;
};

}  // namespace

std::unique_ptr<Zero1Optimizer> make_zero_1_optimizer(comm::ProcessGroup& group,
                                                      std::vector<Parameter*> parameters,
                                                      const FlatShards& plan,
                                                      const Zero1Options& options,
                                                      AdamShard state) {
  return std::make_unique<Flat>(group, std::move(parameters), plan, options, std::move(state));
}

}  // namespace lockstep::zero
