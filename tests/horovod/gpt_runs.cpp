#include "tests/horovod/gpt_runs.hpp"

#include <algorithm>
#include <cmath>

#include "engine/base/random.hpp"
#include "engine/nn/gpt.hpp"

namespace lockstep::test {
namespace {

constexpr std::int64_t samples = 120, sequence = 4, vocabulary = 11;

Tensor tokens_of(int step, std::int64_t first, std::int64_t count, std::uint64_t draw,
                 const Shape& shape, Device& device) {
  std::vector<double> tokens;
  for (std::int64_t i = 0; i < count * sequence; ++i) {
    const auto at = static_cast<std::uint64_t>((step * samples + first) * sequence + i);
    tokens.push_back(std::floor(vocabulary * random_uniform(at, draw)));
  }
  return from_values(tokens, shape, DType::int64, device);
}

}  // namespace

GptSeen run_gpt(comm::ProcessGroup& group, Strands& strands, const GptRun& run) {
  CpuDevice device;
  const auto model = nn::make_gpt(
      {.layers = 2, .width = 8, .heads = 2, .sequence = sequence, .vocabulary = vocabulary},
      DType::float64, device, 7);
  optim::OptimizerSpec spec{.kind = run.rule};
  spec.sgd = {.learning_rate = 0.1, .momentum = 0.9};
  horovod::HorovodOptions options = run.options;
  options.backward_passes_per_step = run.passes;
  options.strands = &strands;
  const auto optimizer = horovod::make_distributed_optimizer(
      optim::make_optimizer(spec, model->parameters()), group, options);
  GptSeen seen;
  const std::int64_t count = samples / group.size() / run.passes;
  for (int step = 0; step < run.steps; ++step) {
    optimizer->zero_grad();
    double loss = 0;
    for (int pass = 0; pass < run.passes; ++pass) {
      const std::int64_t first = (group.rank() * run.passes + pass) * count;
      Tape tape(GradMode::record);
      const Value in = tape.constant(tokens_of(step, first, count, 1, {count, sequence}, device));
      const Value logits = autograd::view(tape, model->forward(tape, in), {-1, vocabulary});
      const Tensor labels = tokens_of(step, first, count, 2, {count * sequence}, device);
      const Value mean =
          autograd::scale(tape, autograd::cross_entropy(tape, logits, labels), 1.0 / run.passes);
      tape.backward(mean);
      loss += mean.tensor.item();
    }
    optimizer->synchronize();
    if (step == 0) {
      for (const Parameter* p : model->parameters()) {
        const auto elements = p->grad.data<double>();
        seen.gradients.emplace_back(elements.begin(), elements.end());
      }
    }
    const auto guard = optimizer->skip_synchronize();
    optimizer->step();
    const Tensor all = full({1}, loss / group.size(), DType::float64, device);
    group.all_reduce(all, ReduceOp::sum);
    seen.losses.push_back(all.item());
  }
  seen.weights = nn::hash_of(*model);
  return seen;
}

double gradients_apart(const GptSeen& one, const GptSeen& other) {
  double worst = one.gradients.size() == other.gradients.size() ? 0 : HUGE_VAL;
  for (std::size_t p = 0; p < one.gradients.size() && worst < HUGE_VAL; ++p) {
    double apart = 0, largest = 0;
    for (std::size_t i = 0; i < one.gradients[p].size(); ++i) {
      apart = std::max(apart, std::abs(one.gradients[p][i] - other.gradients[p][i]));
      largest = std::max(largest, std::abs(other.gradients[p][i]));
    }
    worst = std::max(worst, apart / largest);
  }
  return worst;
}

double losses_apart(const GptSeen& one, const GptSeen& other) {
  double worst = one.losses.size() == other.losses.size() ? 0 : HUGE_VAL;
  for (std::size_t k = 0; k < one.losses.size() && worst < HUGE_VAL; ++k) {
    worst = std::max(worst, std::abs(one.losses[k] / other.losses[k] - 1));
  }
  return worst;
}

}  // namespace lockstep::test
