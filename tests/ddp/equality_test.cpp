// The measure of data parallelism: N ranks train as one device that sees all their samples.
#include <array>

#include "engine/base/random.hpp"
#include "engine/nn/gpt.hpp"
#include "engine/nn/mlp.hpp"
#include "engine/optim/optimizer.hpp"
#include "tests/catch.hpp"
#include "tests/ddp/fixtures.hpp"

using namespace lockstep;
using lockstep::test::on_ranks;

namespace {

constexpr std::int64_t samples = 36;  // of a step on all ranks: 3 micro-batches of 12 divide by 1…4
constexpr int steps = 6;

struct Problem {
  std::unique_ptr<nn::Module> model;
  std::int64_t inputs;  // of a sample: numbers, or tokens
  std::int64_t labels;
  bool tokens;
};

Problem make_problem(const std::string& kind, Device& device) {
  if (kind == "mlp") {
    const std::array<std::int64_t, 4> widths{6, 9, 7, 4};
    return {nn::make_mlp(widths, DType::float64, device, 7), 6, 1, false};
  }
  nn::GptOptions options{.layers = 2, .width = 8, .heads = 2, .sequence = 5, .vocabulary = 11};
  if (kind == "gpt recomputed") options.keep = nn::Keep::block_inputs;
  return {nn::make_gpt(options, DType::float64, device, 7), 5, 5, true};
}

// Samples first, first + stride, … of step k: `count` of them.
Value loss_of(const Problem& problem, nn::Module& model, Tape& tape, int k, std::int64_t first,
              std::int64_t stride, std::int64_t count, Device& device) {
  std::vector<double> inputs, labels;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto sample = static_cast<std::uint64_t>(k * samples + first + i * stride);
    for (std::int64_t j = 0; j < problem.inputs; ++j) {
      const double drawn = random_uniform(sample, static_cast<std::uint64_t>(j));
      inputs.push_back(problem.tokens ? std::floor(11 * drawn) : drawn - 0.5);
    }
    for (std::int64_t j = 0; j < problem.labels; ++j) {
      const double drawn = random_uniform(sample, static_cast<std::uint64_t>(100 + j));
      labels.push_back(std::floor((problem.tokens ? 11 : 4) * drawn));
    }
  }
  const DType dtype = problem.tokens ? DType::int64 : DType::float64;
  const Tensor x = from_values(inputs, {count, problem.inputs}, dtype, device);
  const Tensor y = from_values(labels, {std::ssize(labels)}, DType::int64, device);
  Value logits = model.forward(tape, tape.constant(x));
  if (problem.tokens) logits = autograd::view(tape, logits, {-1, 11});
  return autograd::cross_entropy(tape, logits, y);
}

std::unique_ptr<optim::Optimizer> make_optimizer(const std::string& kind, nn::Module& model) {
  if (kind == "sgd") return optim::make_sgd(model.parameters(), {0.1, 0.9, 0.01});
  return optim::make_adam(model.parameters(), {.learning_rate = 0.01});
}

std::vector<double> parameters_of(nn::Module& model) {
  std::vector<double> all;
  for (const Parameter* p : model.parameters()) {
    for (std::int64_t i = 0; i < p->value.numel(); ++i) all.push_back(p->value.item(i));
  }
  return all;
}

std::vector<double> trained_alone(const std::string& kind, const std::string& rule) {
  CpuDevice device;
  const Problem problem = make_problem(kind, device);
  const auto optimizer = make_optimizer(rule, *problem.model);
  for (int k = 0; k < steps; ++k) {
    optimizer->zero_grad();
    Tape tape(GradMode::record);
    tape.backward(loss_of(problem, *problem.model, tape, k, 0, 1, samples, device));
    optimizer->step();
  }
  return parameters_of(*problem.model);
}

}  // namespace

TEST_CASE("ddp: N ranks, with and without accumulation, train as one device does") {
  const std::string kind = GENERATE("mlp", "gpt", "gpt recomputed");
  const std::string rule = GENERATE("sgd", "adam");
  const std::vector<double> alone = trained_alone(kind, rule);
  for (const int ranks : {1, 2, 3, 4}) {
    for (const int micro_batches : {1, 3}) {
      CAPTURE(kind, rule, ranks, micro_batches);
      std::vector<std::uint64_t> hashes(static_cast<std::size_t>(ranks));
      std::vector<double> together;
      on_ranks(ranks, [&](comm::ProcessGroup& group) {
        CpuDevice device;
        const Problem problem = make_problem(kind, device);
        // Only rank 0 begins with the right weights.
        if (group.rank() > 0) problem.model->parameters()[0]->value.fill_(0.25);
        ddp::Options options;
        options.limits = {256, 1024};  // several buckets
        ddp::Ddp model(*problem.model, group, options);
        const auto optimizer = make_optimizer(rule, model);
        const std::int64_t count = samples / ranks / micro_batches;
        for (int k = 0; k < steps; ++k) {
          optimizer->zero_grad();
          for (int m = 0; m < micro_batches; ++m) {
            Tape tape(GradMode::record);
            const std::int64_t first = group.rank() + m * count * ranks;
            const auto forward = [&] {
              return loss_of(problem, model, tape, k, first, ranks, count, device);
            };
            Value loss;
            if (m + 1 < micro_batches) {
              const auto guard = model.no_sync();
              loss = forward();
            } else {
              loss = forward();
            }
            tape.backward(autograd::scale(tape, loss, 1.0 / micro_batches));
          }
          optimizer->step();
        }
        hashes[static_cast<std::size_t>(group.rank())] = nn::hash_of(model);
        if (group.rank() == 0) together = parameters_of(model);
        LOCKSTEP_EXPECT(model.plan().buckets.size() > 1);
      });
      for (const std::uint64_t hash : hashes) CHECK(hash == hashes[0]);
      REQUIRE(together.size() == alone.size());
      // Sums in another order. Adam divides by the root of a second moment, which lifts roundings
      // of 1e-16 where a gradient is nearly zero.
      double worst = 0;
      for (std::size_t i = 0; i < alone.size(); ++i) {
        worst = std::max(worst, std::abs(together[i] - alone[i]));
      }
      CHECK(worst <= (rule == "sgd" ? 1e-13 : 1e-9));
    }
  }
}
