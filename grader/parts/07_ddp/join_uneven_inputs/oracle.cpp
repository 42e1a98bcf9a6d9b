#include "grader/parts/07_ddp/join_uneven_inputs/oracle.hpp"

#include <algorithm>

#include "grader/judge/compare.hpp"
#include "grader/judge/keyed.hpp"
#include "grader/play/training.hpp"

namespace lockstep::grader::join_uneven_inputs {
namespace {

constexpr std::int64_t batch = 2;

// Players learn this one; what the other ranks' samples are drawn from stays with the judge.
std::uint64_t model_seed_of(std::uint64_t salt) { return keyed_bits(salt, 2'000'029) >> 32; }

// Plays the steps of all ranks on one device.
class OneDevice {
 public:
  OneDevice(const JoinProblem& p, std::uint64_t salt) : p_(p) {
    for (int rank = 0; rank < p.ranks(); ++rank) cases_.push_back(case_of(p, salt, rank));
    model_ = nn::make_mlp(cases_[0].widths, p.dtype, device_, model_seed_of(salt));
    optimizer_ = optim::make_sgd(model_->parameters(), {.learning_rate = 0.1});
  }

  Path path() {
    Path path;
    std::vector<std::int64_t> before(cases_.size());  // steps of earlier epochs, by rank
    for (std::size_t epoch = 0; epoch < p_.epochs.size(); ++epoch) {
      path.push_back({parameters()});
      for (std::int64_t step = 0; step < p_.most(epoch); ++step) {
        take(epoch, step, before);
        path.back().push_back(parameters());
      }
      for (std::size_t r = 0; r < before.size(); ++r) before[r] += p_.epochs[epoch][r];
    }
    return path;
  }

 private:
  std::vector<double> parameters() { return as_doubles(p_.dtype, values_of(*model_)); }

  void take(std::size_t epoch, std::int64_t step, const std::vector<std::int64_t>& before) {
    optimizer_->zero_grad();
    const bool by_live = p_.divide == ddp::JoinDivide::live;
    const auto divisor = static_cast<double>(by_live ? p_.live(epoch, step) : p_.ranks());
    for (std::size_t r = 0; r < cases_.size(); ++r) {
      if (step < p_.epochs[epoch][r]) add_step(cases_[r], before[r] + step, 1 / divisor);
    }
    optimizer_->step();
  }

  // A rank's step, whose micro-batches are of one size, as one batch.
  void add_step(const JoinCase& c, std::int64_t step, double weight) {
    const std::int64_t samples = c.micro_batches * c.batch;
    const data::Batch joined =
        make_batch(c.inputs, c.labels, width, step * samples, samples, p_.dtype, device_);
    Tape tape(GradMode::record);
    const Value logits = model_->forward(tape, tape.constant(joined.inputs));
    const Value loss = autograd::cross_entropy(tape, logits, joined.labels);
    tape.backward(autograd::scale(tape, loss, weight));
  }

  const JoinProblem& p_;
  CpuDevice device_;
  std::vector<JoinCase> cases_;
  std::unique_ptr<nn::Module> model_;
  std::unique_ptr<optim::Optimizer> optimizer_;
};

}  // namespace

std::int64_t JoinProblem::most(std::size_t epoch) const {
  return *std::ranges::max_element(epochs[epoch]);
}

std::int64_t JoinProblem::live(std::size_t epoch, std::int64_t step) const {
  return std::ranges::count_if(epochs[epoch], [=](std::int64_t has) { return has > step; });
}

std::int64_t JoinProblem::last(std::size_t epoch) const {
  const Steps& steps = epochs[epoch];
  return std::max_element(steps.rbegin(), steps.rend()).base() - steps.begin() - 1;
}

std::string JoinProblem::description() const {
  std::string all;
  for (const Steps& steps : epochs) all += text(all.empty() ? "" : ", then ", listed(steps));
  return text(members.description(), ranks() == 1 ? ", which has" : ", which have", " batches for ",
              all, " steps, divided by the ", divide == ddp::JoinDivide::live ? "live" : "initial",
              " ranks", micro_batches > 1 ? text(", ", micro_batches, " micro-batches a step") : "",
              dtype == DType::float32 ? ", float32" : "", has_buffer != 0 ? ", and a buffer" : "",
              name_of(odd));
}

JoinCase case_of(const JoinProblem& p, std::uint64_t salt, int rank) {
  JoinCase c;
  c.dtype = p.dtype;
  c.has_buffer = p.has_buffer;
  c.divide = p.divide;
  c.model_seed = model_seed_of(salt);
  c.widths = {width, hidden, classes};
  c.micro_batches = p.micro_batches;
  c.batch = batch;
  std::int64_t samples = 0;
  for (std::size_t epoch = 0; epoch < p.epochs.size(); ++epoch) {
    c.steps.push_back(p.epochs[epoch][static_cast<std::size_t>(rank)]);
    c.rounds.push_back(p.most(epoch) + 1);
    samples += c.steps.back() * p.micro_batches * batch;
  }
  for (std::int64_t i = 0; i < samples; ++i) {
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

Path train(const JoinProblem& problem, std::uint64_t salt) {
  return OneDevice(problem, salt).path();
}

}  // namespace lockstep::grader::join_uneven_inputs
