#include "grader/parts/05_data_parallel/evaluate_distributed/oracle.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "grader/judge/compare.hpp"

namespace lockstep::grader::evaluate_distributed {
namespace {

using Problem = EvaluationProblem;
using Numbers = EvaluationNumbers;

// Sums in another order: some 1e-14 in float64. In float32 the engine adds a batch's losses in
// float64, but gives their mean in float32.
double tolerance_of(const Problem& p, double expected) {
  return (p.dtype == DType::float64 ? 1e-12 : 1e-5) * std::max(1.0, std::fabs(expected));
}

}  // namespace

Numbers right_numbers(const Problem& p, const HiddenSamples& samples, std::uint64_t model_seed) {
  CpuDevice device;
  MoodyModel model(samples.shape, p.dtype, device, model_seed);
  model.prepare({.mode = nn::Mode::evaluation});
  const auto [size, inputs, labels, kinds] = samples.shape;
  std::vector<std::int64_t> all(static_cast<std::size_t>(size));
  std::iota(all.begin(), all.end(), 0);
  const auto values = samples.inputs_of(all);
  const auto right = samples.labels_of(all);
  Tape tape(GradMode::inference);
  const Tensor logits =
      model.forward(tape, tape.constant(from_values(values, {size, inputs}, p.dtype, device)))
          .tensor;
  const std::vector<double> flat = as_doubles(p.dtype, logits.raw_bytes());
  Numbers sums;
  for (std::int64_t row = 0; row < size * labels; ++row) {
    const auto of_row = std::span(flat).subspan(static_cast<std::size_t>(row * kinds),
                                                static_cast<std::size_t>(kinds));
    const auto largest = std::max_element(of_row.begin(), of_row.end());
    double sum = 0;
    for (const double logit : of_row) sum += std::exp(logit - *largest);
    const auto label = right[static_cast<std::size_t>(row)];
    sums.loss += *largest + std::log(sum) - of_row[static_cast<std::size_t>(label)];
    sums.accuracy += largest - of_row.begin() == label ? 1 : 0;
  }
  const auto rows = static_cast<double>(size * labels);
  return {sums.loss / rows, sums.accuracy / rows};
}

bool near(const Problem& p, const Numbers& seen, const Numbers& expected) {
  const double tolerance = tolerance_of(p, expected.loss);
  // An accuracy is a ratio of whole numbers: one hit more or less in a million is a mistake.
  return !first_difference({&seen.loss, 1}, {&expected.loss, 1}, {&tolerance, 1}) &&
         std::fabs(seen.accuracy - expected.accuracy) <= 1e-12;
}

}  // namespace lockstep::grader::evaluate_distributed
