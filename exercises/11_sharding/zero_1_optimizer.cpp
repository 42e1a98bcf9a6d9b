// Task: take the step of an optimizer whose state is dealt to N ranks. Each rank averages the
// gradients of its own range, updates that range with the state it has, and all ranks gather what
// the others updated. The contract is in engine/parallel/zero/zero_1_optimizer.hpp, the plan in
// engine/parallel/zero/flat_shards.hpp.
#include "engine/parallel/zero/zero_1_optimizer.hpp"

#include <utility>

#include "engine/base/error.hpp"

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
  throw NotImplemented("zero_1_optimizer");
  // <<< your code
}

void ZeroOne::update(const Tensor& gradients, double learning_rate) {
  // >>> your code
  // Avoids warnings about parameters that are not used yet.
  (void)gradients, (void)learning_rate;
  throw NotImplemented("zero_1_optimizer");
  // <<< your code
}

void ZeroOne::gather_parameters() const {
  // >>> your code
  throw NotImplemented("zero_1_optimizer");
  // <<< your code
}

void ZeroOne::step(double learning_rate, const BeforeUpdate& before_update) {
  // >>> your code
  // Avoids warnings about parameters that are not used yet.
  (void)learning_rate, (void)before_update;
  throw NotImplemented("zero_1_optimizer");
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
