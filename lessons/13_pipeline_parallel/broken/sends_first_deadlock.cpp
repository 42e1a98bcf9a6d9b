// Wrong on purpose: after each pass, the stage sends what it made and waits until the receiver has
// it. In the middle of 1F1B, two neighbours send to each other at the same time, and both wait.
// (It also takes each neighbour for another rank, so one stage of several chunks sends to itself.)
#include "engine/parallel/pipeline/outbox.hpp"
#include "engine/parallel/pipeline/run_stage.hpp"
#include "engine/tensor/ops.hpp"

namespace lockstep::pipeline {
namespace {

// Runs the passes of a stage. Where the model ends, it adds up the loss, and backward begins with
// the weight of the micro-batch.
class Passes {
 public:
  Passes(Stage& mine, bool is_last, int chunks, std::span<const double> weights)
      : mine_(mine), is_last_(is_last), chunks_(chunks), weights_(weights) {}

  Tensor room_for(const Action& action) {
    const PassOf pass{action.chunk, action.micro_batch};
    return action.pass == Pass::forward ? mine_.make_input(pass) : mine_.make_gradient(pass);
  }

  Tensor run(const Action& action, Tensor given) {
    const PassOf pass{action.chunk, action.micro_batch};
    const bool ends = is_last_ && action.chunk == chunks_ - 1;
    const double weight = weights_[static_cast<std::size_t>(action.micro_batch)];
    if (action.pass == Pass::weight_gradient) {
      mine_.weight_gradient(pass);
      return {};
    }
    if (action.pass == Pass::forward) {
      Tensor made = mine_.forward(pass, given);
      if (ends) add(ops::scale(made, weight));
      return made;
    }
    if (ends) {
      given = full(loss_.shape(), weight, loss_.dtype(), loss_.device(), MemoryKind::activations);
    }
    return action.pass == Pass::backward ? mine_.backward(pass, given)
                                         : mine_.input_gradient(pass, given);
  }

  const Tensor& loss() const { return loss_; }

 private:
  void add(const Tensor& share) {
    if (loss_.defined()) share.reduce_(loss_, ReduceOp::sum);
    loss_ = share;
  }

  Stage& mine_;
  bool is_last_;
  int chunks_;
  std::span<const double> weights_;
  Tensor loss_;
};

}  // namespace

StageResult run_stage(comm::Peers& stages, Stage& mine, const Plan& plan,
                      std::span<const double> weights) {
  const int stage = stages.rank();
  Passes passes(mine, stage == plan.stages - 1, plan.chunks, weights);
  for (const Action& action : plan.actions[static_cast<std::size_t>(stage)]) {
    Tensor given;
    if (const auto parcel = needed_by(plan, stage, action)) {
      given = passes.room_for(action);
      stages.recv(given, parcel->src, parcel->tag);
    }
    Tensor made = passes.run(action, given);
    if (const auto parcel = made_by(plan, stage, action)) {
      stages.send(made, parcel->dst, parcel->tag);
    }
  }
  return {passes.loss()};
}

}  // namespace lockstep::pipeline
