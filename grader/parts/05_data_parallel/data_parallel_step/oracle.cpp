#include "grader/parts/05_data_parallel/data_parallel_step/oracle.hpp"

#include "engine/base/units.hpp"
#include "grader/judge/compare.hpp"
#include "grader/judge/keyed.hpp"
#include "grader/play/training.hpp"

namespace lockstep::grader::data_parallel_step {
namespace {

using Problem = StepProblem;
using Trained = StepTrained;

// Players learn this one; what the other ranks' samples are drawn from stays with the judge.
std::uint64_t model_seed_of(std::uint64_t salt) { return keyed_bits(salt, 1'000'003) >> 32; }

}  // namespace

std::string StepProblem::description() const {
  return text(members.description(), ", ", counted(batch, "sample"), " each, ",
              counted(steps, "step"), ", ",
              optimizer == OptimizerKind::adam ? "Adam" : "SGD with momentum",
              clip_norm > 0 ? text(", clipped to ", clip_norm) : "",
              clip_norm < 0 ? text(", clip_norm ", clip_norm) : "",
              unused ? ", a parameter that no rank used" : "",
              dtype == DType::float32 ? ", float32" : "", name_of(odd));
}

StepCase case_of(const Problem& p, std::uint64_t salt, int rank) {
  StepCase c;
  c.dtype = p.dtype;
  c.optimizer = p.optimizer;
  c.clip_norm = p.clip_norm;
  c.unused = p.unused;
  c.model_seed = model_seed_of(salt);
  c.widths = {width, 8, classes};
  c.batch = p.batch;
  const auto samples = static_cast<std::size_t>(steps * p.batch);
  for (std::size_t i = 0; i < samples; ++i) {
    const auto label = static_cast<std::int64_t>(
        keyed_bits(salt + 17, i * 16 + static_cast<std::uint64_t>(rank)) % classes);
    c.labels.push_back(label);
    for (std::int64_t j = 0; j < width; ++j) {
      const double noise =
          keyed_uniform(salt + 29, (i * 16 + static_cast<std::uint64_t>(rank)) * width +
                                       static_cast<std::uint64_t>(j));
      // Ranks draw from shifted clouds, so their gradients really differ.
      c.inputs.push_back(2 * noise - 1 + 0.7 * static_cast<double>(rank) +
                         (j == label ? 1.5 : 0.0));
    }
  }
  if (rank == p.ranks() - 1) make_odd(c.inputs, p.odd);
  return c;
}

Trained train(const Problem& p, std::uint64_t salt, std::int64_t taken) {
  CpuDevice device;
  std::vector<StepCase> cases;
  for (int rank = 0; rank < p.ranks(); ++rank) cases.push_back(case_of(p, salt, rank));
  const auto model = nn::make_mlp(cases[0].widths, p.dtype, device, model_seed_of(salt));
  const auto optimizer = make_optimizer(*model, p.optimizer);
  const auto parameters = model->parameters();
  Trained trained;
  trained.losses.resize(cases.size());

  for (std::int64_t step = 0; step < taken; ++step) {
    std::vector<Tensor> sums(parameters.size());
    for (std::size_t rank = 0; rank < cases.size(); ++rank) {
      optimizer->zero_grad();
      const auto batch = make_batch(cases[rank].inputs, cases[rank].labels, width, step * p.batch,
                                    p.batch, p.dtype, device);
      Tape tape(GradMode::record);
      const Value logits = model->forward(tape, tape.constant(batch.inputs));
      const Value loss = autograd::cross_entropy(tape, logits, batch.labels);
      trained.losses[rank].push_back(loss.tensor.item());
      tape.backward(loss);
      for (std::size_t i = 0; i < parameters.size(); ++i) {
        const Tensor share = parameters[i]->grad.clone();
        share.scale_(1.0 / p.ranks());
        if (sums[i].defined()) {
          sums[i].reduce_(share, ReduceOp::sum);
        } else {
          sums[i] = share;
        }
      }
    }
    for (std::size_t i = 0; i < parameters.size(); ++i) parameters[i]->grad.copy_(sums[i]);
    if (p.clip_norm > 0) optim::clip_grad_norm(parameters, p.clip_norm);
    optimizer->step();
  }
  trained.parameters = as_doubles(p.dtype, values_of(*model));
  return trained;
}

}  // namespace lockstep::grader::data_parallel_step
