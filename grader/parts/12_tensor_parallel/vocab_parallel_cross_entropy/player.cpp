// Plays vocab_parallel_cross_entropy: logits that the judge made, of which this rank has its
// columns.
#include <deque>

#include "engine/parallel/tensor/vocab_parallel_cross_entropy.hpp"
#include "grader/parts/12_tensor_parallel/vocab_parallel_cross_entropy/case.hpp"
#include "grader/play/sharded_play.hpp"

namespace lockstep::grader {
namespace {

struct Pass {
  Pass(const VocabCase& c, const VocabCall& call, Device& device)
      : tape(c.walk == VocabWalk::back ? GradMode::record : GradMode::inference) {
    Shape rows;
    for (const std::int64_t size : call.shape) rows.push_back(size);
    Shape shape = rows;
    shape.push_back(call.columns);
    const Tensor given = empty(shape, c.dtype, device, MemoryKind::activations);
    write_bytes(given, call.logits);
    logits = c.walk == VocabWalk::back ? tape.input(given) : tape.constant(given);
    labels = empty(rows, DType::int64, device);
    write_bytes(labels, std::as_bytes(std::span(call.labels)));
  }

  Tape tape;
  Value logits{}, loss{};
  Tensor labels;
};

VocabReport report_of(const VocabCase& c, const VocabCall& call, const Pass& pass) {
  VocabReport report;
  report.changed = copy_of(pass.logits.tensor) != call.logits;
  report.dtype = pass.loss.tensor.dtype();
  report.loss = copy_of(pass.loss.tensor);
  if (c.walk != VocabWalk::back) return report;
  const Tensor gradient = pass.tape.gradient_of(pass.logits);
  report.defined = gradient.defined();
  if (report.defined) report.gradient = copy_of(gradient);
  return report;
}

// Neither the last pass first nor the first: 1, 3, 5, … and then 0, 2, 4, …
std::vector<std::size_t> way_back(std::size_t passes) {
  std::vector<std::size_t> order;
  for (std::size_t k = 1; k < passes; k += 2) order.push_back(k);
  for (std::size_t k = 0; k < passes; k += 2) order.push_back(k);
  return order;
}

std::vector<VocabReport> compute_losses(comm::ProcessGroup& group, const VocabCase& c,
                                        Device& device, sim::Port& port) {
  std::deque<Pass> passes;
  for (const VocabCall& call : c.calls) passes.emplace_back(c, call, device);
  std::vector<VocabReport> reports(passes.size());
  Moments moments(device, port);
  moments.is_made();
  const auto forward = [&](std::size_t k) {
    const VocabCall& call = c.calls[k];
    Pass& pass = passes[k];
    pass.loss = tensor_parallel::vocab_parallel_cross_entropy(pass.tape, group, pass.logits,
                                                              pass.labels, call.vocabulary,
                                                              {call.reduction, call.ignored_label});
  };
  for (std::size_t k = 0; k < passes.size(); ++k) {
    moments.call([&] {
      if (c.walk != VocabWalk::refused) return forward(k);
      reports[k].ending = ending_of<ContractError>([&] { forward(k); });
    });
  }
  if (c.walk == VocabWalk::refused) return reports;
  for (const std::size_t k : way_back(passes.size())) {
    Pass& pass = passes[k];
    const Tensor& loss = pass.loss.tensor;
    if (c.walk == VocabWalk::back) {
      pass.tape.backward(pass.loss, full(loss.shape(), c.calls[k].gradient, loss.dtype(), device));
    }
    reports[k] = report_of(c, c.calls[k], pass);
  }
  return reports;
}

}  // namespace

Bytes play(sim::PlayerCase& played) { return play_in_group<VocabCase>(played, compute_losses); }

}  // namespace lockstep::grader
