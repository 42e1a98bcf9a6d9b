#include "grader/parts/07_ddp/gradient_accumulation/oracle.hpp"

#include <numeric>
#include <utility>

#include "grader/judge/compare.hpp"
#include "grader/judge/keyed.hpp"
#include "grader/play/training.hpp"

namespace lockstep::grader::gradient_accumulation {
namespace {

// Players learn this one; what the other ranks' samples are drawn from stays with the judge.
std::uint64_t model_seed_of(std::uint64_t salt) { return keyed_bits(salt, 2'000'003) >> 32; }

double share_of(const Sizes& counts, std::size_t i) {
  const auto all = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  return static_cast<double>(counts[i]) / static_cast<double>(all);
}

// Plays the steps of all ranks on one device.
class OneDevice {
 public:
  OneDevice(const AccumulationProblem& p, std::uint64_t salt, std::optional<std::size_t> without)
      : p_(p), without_(without) {
    for (int rank = 0; rank < p.ranks(); ++rank) cases_.push_back(case_of(p, salt, rank));
    model_ = nn::make_mlp(cases_[0].widths, p.dtype, device_, model_seed_of(salt));
    optimizer_ = make_optimizer(*model_, p.optimizer);
  }

  Trained trained() {
    for (std::size_t step = 0; step < p_.steps.size(); ++step) take(step);
    trained_.parameters = as_doubles(p_.dtype, values_of(*model_));
    return std::move(trained_);
  }

 private:
  void take(std::size_t step) {
    trained_.losses.emplace_back();
    optimizer_->zero_grad();
    for (std::size_t i = 0; i < p_.steps[step].size(); ++i) add_micro_batch(step, i);
    optimizer_->step();
  }

  void add_micro_batch(std::size_t step, std::size_t i) {
    const bool left_out = step + 1 == p_.steps.size() && without_ == i;
    const double share = share_of(labels_of(p_, step), i) / p_.ranks();
    double loss_of_ranks = 0;
    for (int rank = 0; rank < p_.ranks(); ++rank) {
      const AccumulationCase& c = cases_[static_cast<std::size_t>(rank)];
      const data::Batch batch = micro_batch_of(c, i, p_.steps[step][i], first_, device_);
      Tape tape(GradMode::record);
      const Value logits = model_->forward(tape, tape.constant(batch.inputs));
      const Value loss = autograd::cross_entropy(tape, logits, batch.labels);
      loss_of_ranks += loss.tensor.item() / p_.ranks();
      if (!left_out && share != 0) tape.backward(autograd::scale(tape, loss, share));
    }
    first_ += labels_of(p_, step)[i];
    trained_.losses.back().push_back(loss_of_ranks);
  }

  const AccumulationProblem& p_;
  std::optional<std::size_t> without_;
  CpuDevice device_;
  std::vector<AccumulationCase> cases_;
  std::unique_ptr<nn::Module> model_;
  std::unique_ptr<optim::Optimizer> optimizer_;
  std::int64_t first_ = 0;  // label of the next micro-batch
  Trained trained_;
};

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
  for (std::int64_t i = 0; i < labels; ++i) {
    const std::uint64_t at = static_cast<std::uint64_t>(i) * 16 + static_cast<std::uint64_t>(rank);
    const auto label = static_cast<std::int64_t>(keyed_bits(salt + 17, at) % classes);
    c.labels.push_back(label);
    for (std::int64_t j = 0; j < width; ++j) {
      const double noise = keyed_uniform(salt + 29, at * width + static_cast<std::uint64_t>(j));
      // Ranks draw from shifted clouds, and so do samples of a rank: every gradient differs.
      c.inputs.push_back(2 * noise - 1 + 0.4 * rank + 0.1 * static_cast<double>(i % 7) +
                         (j == label ? 1.5 : 0.0));
    }
  }
  if (rank == p.ranks() - 1) make_odd(c.inputs, p.odd);
  return c;
}

Trained train(const AccumulationProblem& problem, std::uint64_t salt,
              std::optional<std::size_t> without) {
  return OneDevice(problem, salt, without).trained();
}

}  // namespace lockstep::grader::gradient_accumulation
