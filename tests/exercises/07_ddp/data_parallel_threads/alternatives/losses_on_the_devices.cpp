// Each device computes its own part of the loss, so that one strand does forward and backward, and
// labels travel instead of outputs. The calling strand plays device 0.
#include <algorithm>
#include <exception>
#include <memory>
#include <vector>

#include "engine/parallel/ddp/data_parallel_threads.hpp"

namespace lockstep::ddp {
namespace {

// Forward and backward of a chunk; what it adds to the mean loss.
Tensor part_of(nn::Module& replica, const data::Batch& chunk, double share) {
  Tape tape(GradMode::record);
  const Value logits = replica.forward(tape, tape.constant(chunk.inputs));
  const Value loss =
      autograd::scale(tape, autograd::cross_entropy(tape, logits, chunk.labels), share);
  tape.backward(loss);
  return loss.tensor;
}

}  // namespace

double data_parallel_threads(std::span<nn::Module* const> replicas, LocalDevices& devices,
                             Strands& strands, const data::Batch& batch) {
  const std::int64_t samples = batch.inputs.size(0), count = devices.size();
  const std::int64_t chunk = (samples + count - 1) / count;
  const auto used = static_cast<std::size_t>((samples + chunk - 1) / chunk);
  const auto master = replicas[0]->parameters();

  std::vector<data::Batch> chunks;
  for (std::size_t d = 0; d < used; ++d) {
    const std::int64_t first = static_cast<std::int64_t>(d) * chunk;
    const std::int64_t mine = std::min(chunk, samples - first);
    data::Batch part{batch.inputs.narrow(first, mine), batch.labels.narrow(first, mine)};
    if (d > 0) {
      const int to = static_cast<int>(d);
      part = {devices.copy_to(part.inputs, to), devices.copy_to(part.labels, to)};
      const auto copies = replicas[d]->parameters();
      for (std::size_t i = 0; i < copies.size(); ++i) {
        copies[i]->value.copy_(devices.copy_to(master[i]->value, to));
      }
    }
    chunks.push_back(std::move(part));
  }

  std::vector<Tensor> losses(used);
  const auto work = [&](std::size_t d) {
    const double share =
        static_cast<double>(chunks[d].inputs.size(0)) / static_cast<double>(samples);
    losses[d] = part_of(*replicas[d], chunks[d], share);
  };
  std::vector<std::unique_ptr<Strand>> others;
  std::vector<std::exception_ptr> failures;
  const auto guarded = [&](const auto& call) {
    try {
      call();
    } catch (...) {
      failures.push_back(std::current_exception());
    }
  };
  for (std::size_t d = 1; d < used; ++d) {
    others.push_back(strands.start("device", [&work, d] { work(d); }));
  }
  guarded([&] { work(0); });
  for (const auto& strand : others) guarded([&] { strand->join(); });
  if (!failures.empty()) std::rethrow_exception(failures.front());

  double loss = number_of(losses[0]);
  for (std::size_t d = 1; d < used; ++d) {
    loss += number_of(devices.copy_to(losses[d], 0));
    const auto copies = replicas[d]->parameters();
    for (std::size_t i = 0; i < copies.size(); ++i) {
      master[i]->grad.reduce_(devices.copy_to(copies[i]->grad, 0), ReduceOp::sum);
      copies[i]->grad = Tensor();
    }
  }
  return loss;
}

}  // namespace lockstep::ddp
