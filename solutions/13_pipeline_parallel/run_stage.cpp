// Task: be one stage of a pipeline. Carry out the actions of the plan for this stage, in their
// order: get what a pass needs, run it, and pass on what it made. A message must travel while the
// stage works: post each receive one action ahead, and do not wait for a send. Each weight enters
// once, where the backward pass of its micro-batch begins.
// The contract is in engine/parallel/pipeline/run_stage.hpp; which stage gives an action what it
// needs is in engine/parallel/pipeline/outbox.hpp.
#include "engine/parallel/pipeline/run_stage.hpp"

#include <map>
#include <utility>

#include "engine/base/error.hpp"
#include "engine/parallel/pipeline/outbox.hpp"
#include "engine/tensor/ops.hpp"

namespace lockstep::pipeline {
namespace {

// >>> your code
// What this stage's passes get from others, and from other chunks of this stage.
class Inbox {
 public:
  Inbox(comm::Peers& stages, Stage& mine, const Plan& plan)
      : stages_(stages), mine_(mine), plan_(plan) {}

  // From now on, what `action` needs may arrive.
  void expect(const Action& action) {
    const auto parcel = needed_by(plan_, stages_.rank(), action);
    if (!parcel || parcel->src == stages_.rank() || arriving_.contains(parcel->tag)) return;
    const PassOf pass{action.chunk, action.micro_batch};
    Tensor room = action.pass == Pass::forward ? mine_.make_input(pass) : mine_.make_gradient(pass);
    comm::Work work = stages_.irecv(room, parcel->src, parcel->tag);
    arriving_.emplace(parcel->tag, Arriving{std::move(room), std::move(work)});
  }

  // What `action` needs; undefined if that is nothing of another part.
  Tensor take(const Action& action, Outbox& outbox) {
    const auto parcel = needed_by(plan_, stages_.rank(), action);
    if (!parcel) return {};
    if (parcel->src == stages_.rank()) return kept_here_.extract(parcel->tag).mapped();
    expect(action);
    Arriving arriving = std::move(arriving_.extract(parcel->tag).mapped());
    arriving.work.wait();
    outbox.came(*parcel);
    return std::move(arriving.tensor);
  }

  void keep(const Parcel& parcel, Tensor made) { kept_here_.emplace(parcel.tag, std::move(made)); }

 private:
  struct Arriving {
    Tensor tensor;
    comm::Work work;
  };
  comm::Peers& stages_;
  Stage& mine_;
  const Plan& plan_;
  std::map<int, Arriving> arriving_;  // by tag
  std::map<int, Tensor> kept_here_;   // the same, from a chunk of this stage to another
};
// <<< your code

}  // namespace

StageResult run_stage(comm::Peers& stages, Stage& mine, const Plan& plan,
                      std::span<const double> weights) {
  LOCKSTEP_CHECK(plan.stages == stages.size() && plan.chunks == mine.chunks() &&
                     plan.micro_batches == std::ssize(weights) &&
                     std::ssize(plan.actions) == plan.stages,
                 "run_stage: a plan for ", plan.stages, " stages of ", plan.chunks, " chunks and ",
                 plan.micro_batches, " micro-batches, but here are ", stages.size(), " of ",
                 mine.chunks(), ", and ", weights.size(), " micro-batches");
  // >>> your code
  const auto& actions = plan.actions[static_cast<std::size_t>(stages.rank())];
  Inbox inbox(stages, mine, plan);
  Outbox outbox(stages);
  Tensor loss;
  for (std::size_t k = 0; k < actions.size(); ++k) {
    const Action& action = actions[k];
    const PassOf pass{action.chunk, action.micro_batch};
    const double weight = weights[static_cast<std::size_t>(action.micro_batch)];
    const bool ends = action.chunk * plan.stages + stages.rank() == plan.chunks * plan.stages - 1;
    Tensor given = inbox.take(action, outbox);
    if (k + 1 < actions.size()) inbox.expect(actions[k + 1]);
    Tensor made;
    if (action.pass == Pass::forward) {
      made = mine.forward(pass, given);
      if (ends) {
        const Tensor share = ops::scale(made, weight);
        if (loss.defined()) share.reduce_(loss, ReduceOp::sum);
        loss = share;
      }
    } else if (action.pass == Pass::weight_gradient) {
      mine.weight_gradient(pass);
    } else {
      if (ends) {
        given = full(loss.shape(), weight, loss.dtype(), loss.device(), MemoryKind::activations);
      }
      made = action.pass == Pass::backward ? mine.backward(pass, given)
                                           : mine.input_gradient(pass, given);
    }
    const auto parcel = made_by(plan, stages.rank(), action);
    if (!parcel) continue;
    if (parcel->dst == stages.rank()) {
      inbox.keep(*parcel, std::move(made));
    } else {
      outbox.send(*parcel, std::move(made));
    }
  }
  outbox.finish();
  return {loss};
  // <<< your code
}

}  // namespace lockstep::pipeline
