// Task: take the step of an optimizer whose state is dealt to N ranks. Each rank averages the
// gradients of its own range, updates that range with the state it has, and all ranks gather what
// the others updated. The contract is in engine/parallel/zero/zero_1_optimizer.hpp, the plan in
// engine/parallel/zero/flat_shards.hpp.
#include "engine/parallel/zero/zero_1_optimizer.hpp"

#include <utility>

namespace lockstep::zero {
namespace {

class ZeroOne final : public Zero1Optimizer {
 public:
  ZeroOne(comm::ProcessGroup& group, std::vector<Parameter*> parameters, FlatShards plan,
          const Zero1Options& options, AdamShard state)
      : group_(group),
        parameters_(std::move(parameters)),
        plan_(std::move(plan)),
        options_(options),
        state_(std::move(state)) {}

  void step(double learning_rate, const BeforeUpdate& before_update) override;
  AdamShard state() const override { return state_; }

 private:
  // Calls visit(piece, start) for each piece of a rank. `start` is where the piece begins when the
  // ranges of all ranks lie one after the other.
  void visit_pieces(int rank, const auto& visit) const {
    for (const ShardPiece& piece : plan_.ranks[static_cast<std::size_t>(rank)]) {
      visit(piece, rank * plan_.shard + piece.offset);
    }
  }
  // The same for the pieces of all ranks.
  void visit_all(const auto& visit) const {
    for (int rank = 0; rank < group_.size(); ++rank) visit_pieces(rank, visit);
  }
  // The elements of a piece in a tensor of its parameter, which is the value or the gradient.
  static Tensor part_of(const Tensor& whole, const ShardPiece& piece) {
    return whole.view({-1}).narrow(piece.begin, piece.end - piece.begin);
  }

  // The mean over the ranks of the gradients of this rank's range, [S].
  Tensor reduced_gradients() const;
  // Updates this rank's pieces of the parameters, and its state.
  void update(const Tensor& gradients, double learning_rate);
  // Replaces all other ranks' pieces of the parameters by what their owners have.
  void gather_parameters() const;

  comm::ProcessGroup& group_;
  std::vector<Parameter*> parameters_;
  FlatShards plan_;
  Zero1Options options_;
  AdamShard state_;
};

Tensor ZeroOne::reduced_gradients() const {
  // >>> your code
  const Tensor& like = state_.first;
  const Tensor all = zeros({plan_.padded()}, like.dtype(), like.device());
  visit_all([&](const ShardPiece& piece, std::int64_t start) {
    const Tensor& grad = parameters_[piece.parameter]->grad;
    if (!grad.defined()) return;
    all.narrow(start, piece.end - piece.begin).copy_(part_of(grad, piece));
  });
  all.scale_(1.0 / group_.size());
  const Tensor mine = like.empty_like(plan_.shard);
  group_.reduce_scatter(all, mine, ReduceOp::sum);
  return mine;
  // <<< your code
}

void ZeroOne::update(const Tensor& gradients, double learning_rate) {
  // >>> your code
  ++state_.updates;
  visit_pieces(group_.rank(), [&](const ShardPiece& piece, std::int64_t) {
    const Tensor& value = parameters_[piece.parameter]->value;
    AdamRule rule = options_.rule;
    rule.learning_rate = learning_rate;
    if (std::ssize(value.shape()) < options_.decay_dims_min) rule.weight_decay = 0;
    const std::int64_t count = piece.end - piece.begin;
    ops::adam_update_(part_of(value, piece), gradients.narrow(piece.offset, count),
                      state_.first.narrow(piece.offset, count),
                      state_.second.narrow(piece.offset, count), rule, state_.updates);
  });
  // <<< your code
}

void ZeroOne::gather_parameters() const {
  // >>> your code
  const Tensor& like = state_.first;
  const Tensor mine = zeros({plan_.shard}, like.dtype(), like.device());
  visit_pieces(group_.rank(), [&](const ShardPiece& piece, std::int64_t) {
    mine.narrow(piece.offset, piece.end - piece.begin)
        .copy_(part_of(parameters_[piece.parameter]->value, piece));
  });
  const Tensor all = like.empty_like(plan_.padded());
  group_.all_gather(mine, all);
  visit_all([&](const ShardPiece& piece, std::int64_t start) {
    part_of(parameters_[piece.parameter]->value, piece)
        .copy_(all.narrow(start, piece.end - piece.begin));
  });
  // <<< your code
}

void ZeroOne::step(double learning_rate, const BeforeUpdate& before_update) {
  // >>> your code
  const Tensor mine = reduced_gradients();
  if (before_update) before_update(mine);
  update(mine, learning_rate);
  gather_parameters();
  // <<< your code
}

}  // namespace

std::unique_ptr<Zero1Optimizer> make_zero_1_optimizer(comm::ProcessGroup& group,
                                                      std::vector<Parameter*> parameters,
                                                      const FlatShards& plan,
                                                      const Zero1Options& options,
                                                      AdamShard state) {
  return std::make_unique<ZeroOne>(group, std::move(parameters), plan, options, std::move(state));
}

}  // namespace lockstep::zero
