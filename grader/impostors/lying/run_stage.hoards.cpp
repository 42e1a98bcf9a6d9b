// A right stage that keeps a copy of every tensor that it sends or receives, in memory of its own:
// the device's account knows nothing of it.
#include <map>
#include <utility>

#include "engine/parallel/pipeline/outbox.hpp"
#include "engine/parallel/pipeline/run_stage.hpp"
#include "engine/tensor/ops.hpp"

#ifndef LOCKSTEP_HOARD
#define LOCKSTEP_HOARD std::vector<std::byte>
#endif

namespace lockstep::pipeline {
namespace {

struct Arriving {
  Tensor tensor;
  comm::Work work;
};

}  // namespace

StageResult run_stage(comm::Peers& stages, Stage& mine, const Plan& plan,
                      std::span<const double> weights) {
  const auto& actions = plan.actions[static_cast<std::size_t>(stages.rank())];
  std::map<int, Arriving> arriving;
  std::map<int, Tensor> own;
  Outbox outbox(stages);
  Tensor loss;
  std::vector<LOCKSTEP_HOARD> all;
  const auto hoard = [&](const Tensor& tensor) {
    if (!tensor.defined()) return;
    const auto bytes = tensor.raw_bytes();
    all.emplace_back().assign(bytes.begin(), bytes.end());
  };
  const auto expect = [&](std::size_t k) {
    const auto parcel =
        k < actions.size() ? needed_by(plan, stages.rank(), actions[k]) : std::nullopt;
    if (!parcel || parcel->src == stages.rank() || arriving.contains(parcel->tag)) return;
    const PassOf pass{actions[k].chunk, actions[k].micro_batch};
    Tensor room =
        actions[k].pass == Pass::forward ? mine.make_input(pass) : mine.make_gradient(pass);
    comm::Work work = stages.irecv(room, parcel->src, parcel->tag);
    arriving.emplace(parcel->tag, Arriving{std::move(room), std::move(work)});
  };
  const auto take = [&](std::size_t k) -> Tensor {
    const auto parcel = needed_by(plan, stages.rank(), actions[k]);
    if (!parcel) return {};
    if (parcel->src == stages.rank()) return own.extract(parcel->tag).mapped();
    expect(k);
    Arriving came = std::move(arriving.extract(parcel->tag).mapped());
    came.work.wait();
    outbox.came(*parcel);
    return std::move(came.tensor);
  };
  for (std::size_t k = 0; k < actions.size(); ++k) {
    const Action& action = actions[k];
    const PassOf pass{action.chunk, action.micro_batch};
    const double weight = weights[static_cast<std::size_t>(action.micro_batch)];
    const bool ends = action.chunk * plan.stages + stages.rank() == plan.chunks * plan.stages - 1;
    Tensor given = take(k), made;
    hoard(given);
    expect(k + 1);
    if (ends && action.pass != Pass::forward) {
      given = full(loss.shape(), weight, loss.dtype(), loss.device(), MemoryKind::activations);
    }
    if (action.pass == Pass::forward) made = mine.forward(pass, given);
    if (action.pass == Pass::backward) made = mine.backward(pass, given);
    if (action.pass == Pass::input_gradient) made = mine.input_gradient(pass, given);
    if (action.pass == Pass::weight_gradient) mine.weight_gradient(pass);
    if (ends && action.pass == Pass::forward) {
      const Tensor share = ops::scale(made, weight);
      if (loss.defined()) share.reduce_(loss, ReduceOp::sum);
      loss = share;
    }
    const auto parcel = made_by(plan, stages.rank(), action);
    if (!parcel) continue;
    hoard(made);
    if (parcel->dst == stages.rank()) {
      own.emplace(parcel->tag, std::move(made));
    } else {
      outbox.send(*parcel, std::move(made));
    }
  }
  outbox.finish();
  return {loss};
}

}  // namespace lockstep::pipeline
