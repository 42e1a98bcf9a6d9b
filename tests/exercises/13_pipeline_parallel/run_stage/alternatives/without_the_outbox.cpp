// Keeps the sends by itself, in two queues: what a stage sent to a neighbour has arrived when the
// answer to it is back. One loop over the actions, no class.
#include <deque>
#include <map>

#include "engine/base/error.hpp"
#include "engine/parallel/pipeline/outbox.hpp"
#include "engine/parallel/pipeline/run_stage.hpp"
#include "engine/tensor/ops.hpp"

namespace lockstep::pipeline {

StageResult run_stage(comm::Peers& stages, Stage& mine, const Plan& plan,
                      std::span<const double> weights) {
  struct OnItsWay {
    Tensor tensor;
    comm::Work work;
  };
  struct Gone {
    Parcel parcel;
    OnItsWay sent;
  };
  const int me = stages.rank();
  const auto& actions = plan.actions.at(static_cast<std::size_t>(me));
  std::map<int, OnItsWay> coming;
  std::map<int, Tensor> own;
  std::deque<Gone> going;
  Tensor total;

  const auto post = [&](std::size_t k) {
    if (k >= actions.size()) return;
    const auto need = needed_by(plan, me, actions[k]);
    if (!need || need->src == me || coming.count(need->tag) != 0) return;
    const PassOf of{actions[k].chunk, actions[k].micro_batch};
    OnItsWay& one = coming[need->tag];
    one.tensor = actions[k].pass == Pass::forward ? mine.make_input(of) : mine.make_gradient(of);
    one.work = stages.irecv(one.tensor, need->src, need->tag);
  };

  post(0);
  for (std::size_t k = 0; k < actions.size(); ++k) {
    const Action& now = actions[k];
    const PassOf of{now.chunk, now.micro_batch};
    Tensor in;
    if (const auto need = needed_by(plan, me, now)) {
      if (need->src == me) {
        in = own.at(need->tag);
        own.erase(need->tag);
      } else {
        OnItsWay one = std::move(coming.at(need->tag));
        coming.erase(need->tag);
        one.work.wait();
        in = one.tensor;
        for (auto it = going.begin(); it != going.end();) {
          if (it->parcel.dst == need->src && it->parcel.needed_at <= need->made_at) {
            it->sent.work.wait();
            it = going.erase(it);
          } else {
            ++it;
          }
        }
      }
    }
    post(k + 1);
    const double weight = weights[static_cast<std::size_t>(now.micro_batch)];
    const bool last = me == plan.stages - 1 && now.chunk == plan.chunks - 1;
    Tensor out;
    switch (now.pass) {
      case Pass::forward:
        out = mine.forward(of, in);
        if (last) {
          if (!total.defined()) {
            total = full(out.shape(), 0, out.dtype(), out.device(), MemoryKind::activations);
          }
          total.reduce_(ops::scale(out, weight), ReduceOp::sum);
        }
        break;
      case Pass::backward:
      case Pass::input_gradient:
        if (last) {
          in = full(total.shape(), weight, total.dtype(), total.device(), MemoryKind::activations);
        }
        out = now.pass == Pass::backward ? mine.backward(of, in) : mine.input_gradient(of, in);
        break;
      case Pass::weight_gradient:
        mine.weight_gradient(of);
        break;
    }
    const auto made = made_by(plan, me, now);
    if (!made) continue;
    if (made->dst == me) {
      own[made->tag] = out;
    } else {
      comm::Work work = stages.isend(out, made->dst, made->tag);
      going.push_back({*made, {out, std::move(work)}});
    }
  }
  for (Gone& one : going) one.sent.work.wait();
  return {total};
}

}  // namespace lockstep::pipeline
