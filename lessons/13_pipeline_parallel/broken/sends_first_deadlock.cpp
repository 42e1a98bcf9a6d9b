// Wrong on purpose: after each pass, the stage sends what it made and waits until the receiver has
// it. In the middle of 1F1B, two neighbours send to each other at the same time, and both wait.
#include <map>

#include "engine/parallel/pipeline/outbox.hpp"
#include "engine/parallel/pipeline/run_stage.hpp"
#include "engine/tensor/ops.hpp"

namespace lockstep::pipeline {

StageResult run_stage(comm::Peers& stages, Stage& mine, const Plan& plan,
                      std::span<const double> weights) {
  const int stage = stages.rank();
  std::map<int, Tensor> kept_here;
  Tensor loss;
  for (const Action& action : plan.actions[static_cast<std::size_t>(stage)]) {
    const PassOf pass{action.chunk, action.micro_batch};
    const double weight = weights[static_cast<std::size_t>(action.micro_batch)];
    const bool ends = action.chunk * plan.stages + stage == plan.chunks * plan.stages - 1;
    Tensor given, made;
    if (const auto parcel = needed_by(plan, stage, action); parcel && parcel->src == stage) {
      given = kept_here.extract(parcel->tag).mapped();
    } else if (parcel) {
      given = action.pass == Pass::forward ? mine.make_input(pass) : mine.make_gradient(pass);
      stages.recv(given, parcel->src, parcel->tag);
    } else if (ends && action.pass != Pass::forward && action.pass != Pass::weight_gradient) {
      given = full(loss.shape(), weight, loss.dtype(), loss.device(), MemoryKind::activations);
    }
    if (action.pass == Pass::forward) made = mine.forward(pass, given);
    if (action.pass == Pass::backward) made = mine.backward(pass, given);
    if (action.pass == Pass::input_gradient) made = mine.input_gradient(pass, given);
    if (action.pass == Pass::weight_gradient) mine.weight_gradient(pass);
    if (action.pass == Pass::forward && ends) {
      const Tensor share = ops::scale(made, weight);
      if (loss.defined()) share.reduce_(loss, ReduceOp::sum);
      loss = share;
    }
    const auto parcel = made_by(plan, stage, action);
    if (parcel && parcel->dst == stage)
      kept_here.emplace(parcel->tag, std::move(made));
    else if (parcel)
      stages.send(made, parcel->dst, parcel->tag);
  }
  return {loss};
}

}  // namespace lockstep::pipeline
