#include "grader/parts/05_data_parallel/data_parallel_step/oracle.hpp"

#include "engine/base/units.hpp"
#include "grader/exam/ranks/one_device.hpp"
#include "grader/judge/keyed.hpp"

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
  draw_samples(salt, rank, steps * p.batch, width, classes, c.inputs, c.labels);
  if (rank == p.ranks() - 1) make_odd(c.inputs, p.odd);
  return c;
}

Trained train(const Problem& p, std::uint64_t salt, std::int64_t taken) {
  std::vector<StepCase> cases;
  for (int rank = 0; rank < p.ranks(); ++rank) cases.push_back(case_of(p, salt, rank));
  OneDevice one(cases[0].widths, p.dtype, model_seed_of(salt), p.optimizer);
  Trained trained;
  trained.losses.resize(cases.size());
  for (std::int64_t step = 0; step < taken; ++step) {
    one.optimizer().zero_grad();
    for (std::size_t rank = 0; rank < cases.size(); ++rank) {
      const auto batch = make_batch(cases[rank].inputs, cases[rank].labels, width, step * p.batch,
                                    p.batch, p.dtype, one.device());
      trained.losses[rank].push_back(one.add(batch, 1.0 / p.ranks()));
    }
    if (p.clip_norm > 0) optim::clip_grad_norm(one.model().parameters(), p.clip_norm);
    one.optimizer().step();
  }
  trained.parameters = one.parameters(p.dtype);
  return trained;
}

}  // namespace lockstep::grader::data_parallel_step
