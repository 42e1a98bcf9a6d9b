#include "grader/parts/07_ddp/gradient_accumulation/oracle.hpp"

#include <numeric>

#include "grader/exam/ranks/one_device.hpp"
#include "grader/judge/keyed.hpp"

namespace lockstep::grader::gradient_accumulation {
namespace {

// Players learn this one; what the other ranks' samples are drawn from stays with the judge.
std::uint64_t model_seed_of(std::uint64_t salt) { return keyed_bits(salt, 2'000'003) >> 32; }

double share_of(const Sizes& counts, std::size_t i) {
  const auto all = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  return static_cast<double>(counts[i]) / static_cast<double>(all);
}

}  // namespace

std::string AccumulationProblem::description() const {
  std::string groups;
  for (const Sizes& sizes : steps) {
    groups += text(groups.empty() ? "" : ", ", listed(sizes));
  }
  return text(members.description(), ", ", steps.size(), steps.size() == 1 ? " step" : " steps",
              " of micro-batches of ", groups, " samples, ",
              lengths.empty() ? "" : text("with ", listed(lengths), " labels per sample, "),
              optimizer == OptimizerKind::adam ? "Adam" : "SGD with momentum",
              dtype == DType::float32 ? ", float32" : "", name_of(odd));
}

Sizes labels_of(const AccumulationProblem& p, std::size_t step) {
  Sizes labels = p.steps[step];
  for (std::size_t i = 0; i < labels.size(); ++i) labels[i] *= length_of(p.lengths, i);
  return labels;
}

AccumulationCase case_of(const AccumulationProblem& p, std::uint64_t salt, int rank) {
  AccumulationCase c;
  c.dtype = p.dtype;
  c.optimizer = p.optimizer;
  c.model_seed = model_seed_of(salt);
  c.widths = {width, hidden, classes};
  c.steps = p.steps;
  c.lengths = p.lengths;
  std::int64_t labels = 0;
  for (std::size_t step = 0; step < p.steps.size(); ++step) {
    const Sizes of_step = labels_of(p, step);
    labels += std::accumulate(of_step.begin(), of_step.end(), std::int64_t{0});
  }
  draw_samples(salt, rank, labels, width, classes, c.inputs, c.labels);
  if (rank == p.ranks() - 1) make_odd(c.inputs, p.odd);
  return c;
}

Trained train(const AccumulationProblem& p, std::uint64_t salt,
              std::optional<std::size_t> without) {
  std::vector<AccumulationCase> cases;
  for (int rank = 0; rank < p.ranks(); ++rank) cases.push_back(case_of(p, salt, rank));
  OneDevice one(cases[0].widths, p.dtype, model_seed_of(salt), p.optimizer);
  Trained trained;
  std::int64_t first = 0;  // label of the next micro-batch
  for (std::size_t step = 0; step < p.steps.size(); ++step) {
    one.optimizer().zero_grad();
    auto& losses = trained.losses.emplace_back();
    const Sizes labels = labels_of(p, step);
    for (std::size_t i = 0; i < labels.size(); ++i) {
      const bool left_out = step + 1 == p.steps.size() && without == i;
      const double share = left_out ? 0 : share_of(labels, i) / p.ranks();
      double loss = 0;
      for (const AccumulationCase& c : cases) {
        const auto batch = micro_batch_of(c, i, p.steps[step][i], first, one.device());
        loss += one.add(batch, share) / p.ranks();
      }
      first += labels[i];
      losses.push_back(loss);
    }
    one.optimizer().step();
  }
  trained.parameters = one.parameters(p.dtype);
  return trained;
}

}  // namespace lockstep::grader::gradient_accumulation
