#include "grader/parts/07_ddp/join_uneven_inputs/oracle.hpp"

#include <algorithm>

#include "grader/exam/ranks/one_device.hpp"
#include "grader/judge/keyed.hpp"

namespace lockstep::grader::join_uneven_inputs {
namespace {

constexpr std::int64_t batch = 2;

// Players learn this one; what the other ranks' samples are drawn from stays with the judge.
std::uint64_t model_seed_of(std::uint64_t salt) { return keyed_bits(salt, 2'000'029) >> 32; }

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
  draw_samples(salt, rank, samples, width, classes, c.inputs, c.labels);
  if (rank == p.ranks() - 1) make_odd(c.inputs, p.odd);
  return c;
}

Path train(const JoinProblem& p, std::uint64_t salt) {
  std::vector<JoinCase> cases;
  for (int rank = 0; rank < p.ranks(); ++rank) cases.push_back(case_of(p, salt, rank));
  OneDevice one(cases[0].widths, p.dtype, model_seed_of(salt), [](nn::Module& model) {
    return optim::make_sgd(model.parameters(), {.learning_rate = 0.1});
  });
  Path path;
  std::vector<std::int64_t> first(cases.size());  // sample of the next step, by rank
  for (std::size_t epoch = 0; epoch < p.epochs.size(); ++epoch) {
    path.push_back({one.parameters(p.dtype)});
    for (std::int64_t step = 0; step < p.most(epoch); ++step) {
      one.optimizer().zero_grad();
      const bool by_live = p.divide == ddp::JoinDivide::live;
      const auto divisor = static_cast<double>(by_live ? p.live(epoch, step) : p.ranks());
      for (std::size_t r = 0; r < cases.size(); ++r) {
        if (step >= p.epochs[epoch][r]) continue;
        // A rank's step, whose micro-batches are of one size, as one batch.
        const std::int64_t samples = p.micro_batches * batch;
        one.add(make_batch(cases[r].inputs, cases[r].labels, width, first[r], samples, p.dtype,
                           one.device()),
                1 / divisor);
        first[r] += samples;
      }
      one.optimizer().step();
      path.back().push_back(one.parameters(p.dtype));
    }
  }
  return path;
}

}  // namespace lockstep::grader::join_uneven_inputs
