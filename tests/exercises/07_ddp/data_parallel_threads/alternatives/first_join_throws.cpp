// What the first strand threw leaves at its join(); the destructors of the others join them, while
// what they use is still there.
#include "engine/parallel/ddp/data_parallel_threads.hpp"

#include <algorithm>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

namespace lockstep::ddp {
namespace {

// What one device computes.
struct Share {
  std::int64_t first = 0, samples = 0;
  Tape tape{GradMode::record};
  Tensor inputs;
  Value outputs;
  Tensor grad;  // of the outputs
};

void on_all(Strands& strands, std::size_t count, const std::function<void(std::size_t)>& body) {
  std::vector<std::unique_ptr<Strand>> running;
  for (std::size_t d = 0; d < count; ++d) {
    running.push_back(strands.start(text("device ", d), [&body, d] { body(d); }));
  }
  for (const auto& strand : running) strand->join();
}

}  // namespace

double data_parallel_threads(std::span<nn::Module* const> replicas, LocalDevices& devices,
                             Strands& strands, const data::Batch& batch) {
  const std::int64_t samples = batch.inputs.size(0);
  const std::int64_t chunk = (samples + devices.size() - 1) / devices.size();
  const std::vector<Parameter*> master = replicas[0]->parameters();
  std::deque<Share> shares;
  for (std::int64_t first = 0; first < samples; first += chunk) {
    const int d = static_cast<int>(shares.size());
    Share& share = shares.emplace_back();
    share.first = first;
    share.samples = std::min(chunk, samples - first);
    share.inputs = batch.inputs.narrow(first, share.samples);
    if (d == 0) continue;
    share.inputs = devices.copy_to(share.inputs, d);
    const auto copies = replicas[static_cast<std::size_t>(d)]->parameters();
    for (std::size_t i = 0; i < master.size(); ++i) {
      copies[i]->value.copy_(devices.copy_to(master[i]->value, d));
    }
  }
  on_all(strands, shares.size(), [&](std::size_t d) {
    Share& share = shares[d];
    share.outputs = replicas[d]->forward(share.tape, share.tape.constant(share.inputs));
  });

  const Tensor& like = shares[0].outputs.tensor;
  const Tensor logits = empty({samples, like.size(1)}, like.dtype(), like.device());
  for (const Share& share : shares) {
    const Tensor& outputs = share.outputs.tensor;
    const Tensor here = share.first == 0 ? outputs : devices.copy_to(outputs, 0);
    logits.narrow(share.first, share.samples).copy_(here);
  }
  Tape top(GradMode::record);
  const Value gathered = top.input(logits);
  const Value loss = autograd::cross_entropy(top, gathered, batch.labels);
  top.backward(loss);
  const Tensor grad = top.gradient_of(gathered);
  for (std::size_t d = 0; d < shares.size(); ++d) {
    const Tensor mine = grad.narrow(shares[d].first, shares[d].samples);
    shares[d].grad = d == 0 ? mine : devices.copy_to(mine, static_cast<int>(d));
  }
  on_all(strands, shares.size(),
         [&](std::size_t d) { shares[d].tape.backward(shares[d].outputs, shares[d].grad); });

  for (std::size_t d = 1; d < shares.size(); ++d) {
    const auto copies = replicas[d]->parameters();
    for (std::size_t i = 0; i < master.size(); ++i) {
      master[i]->grad.reduce_(devices.copy_to(copies[i]->grad, 0), ReduceOp::sum);
      copies[i]->grad = {};
    }
  }
  return number_of(loss.tensor);
}

}  // namespace lockstep::ddp
