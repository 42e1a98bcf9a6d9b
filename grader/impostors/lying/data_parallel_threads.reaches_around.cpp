// A right step whose tensors get to the other devices without copy_to: nothing is copied that
// anybody could count. All strands run at once.
#include <deque>
#include <exception>
#include <memory>
#include <vector>

#include "engine/parallel/ddp/data_parallel_threads.hpp"

namespace lockstep::ddp {
namespace {

struct Share {
  std::int64_t first = 0, samples = 0;
  Tape tape{GradMode::record};
  Tensor inputs;
  Value outputs;
};

Tensor moved(const Tensor& tensor, Device& to) {
  const Tensor there = empty(tensor.shape(), tensor.dtype(), to, tensor.kind());
  there.copy_(tensor);
  return there;
}

void on_all(Strands& strands, std::size_t count, const std::function<void(std::size_t)>& body) {
  std::vector<std::unique_ptr<Strand>> running;
  for (std::size_t d = 0; d < count; ++d) {
    running.push_back(strands.start("device", [&body, d] { body(d); }));
  }
  std::exception_ptr failure;
  for (const auto& strand : running) {
    try {
      strand->join();
    } catch (...) {
      if (!failure) failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace

double data_parallel_threads(std::span<nn::Module* const> replicas, LocalDevices& devices,
                             Strands& strands, const data::Batch& batch) {
  const std::int64_t samples = batch.inputs.size(0);
  const std::int64_t chunk = (samples + devices.size() - 1) / devices.size();
  const auto master = replicas[0]->parameters();
  std::deque<Share> shares;
  for (std::int64_t first = 0; first < samples; first += chunk) {
    const auto copies = replicas[shares.size()]->parameters();
    Device& there = copies.front()->value.device();
    Share& share = shares.emplace_back();
    share.first = first;
    share.samples = std::min(chunk, samples - first);
    share.inputs = moved(batch.inputs.narrow(first, share.samples), there);
    if (copies == master) continue;
    for (std::size_t i = 0; i < master.size(); ++i) copies[i]->value.copy_(master[i]->value);
  }
  on_all(strands, shares.size(), [&](std::size_t d) {
    shares[d].outputs =
        replicas[d]->forward(shares[d].tape, shares[d].tape.constant(shares[d].inputs));
  });
  const Tensor& like = shares[0].outputs.tensor;
  const Tensor logits = empty({samples, like.size(1)}, like.dtype(), like.device());
  for (const Share& share : shares) {
    logits.narrow(share.first, share.samples).copy_(share.outputs.tensor);
  }
  Tape top(GradMode::record);
  const Value gathered = top.input(logits);
  const Value loss = autograd::cross_entropy(top, gathered, batch.labels);
  top.backward(loss);
  const Tensor grad = top.gradient_of(gathered);
  on_all(strands, shares.size(), [&](std::size_t d) {
    Device& there = shares[d].outputs.tensor.device();
    const Tensor part = moved(grad.narrow(shares[d].first, shares[d].samples), there);
    shares[d].tape.backward(shares[d].outputs, part);
  });
  for (std::size_t d = 1; d < shares.size(); ++d) {
    const auto copies = replicas[d]->parameters();
    for (std::size_t i = 0; i < master.size(); ++i) {
      master[i]->grad.reduce_(copies[i]->grad, ReduceOp::sum);
      copies[i]->grad = {};
    }
  }
  return number_of(loss.tensor);
}

}  // namespace lockstep::ddp
