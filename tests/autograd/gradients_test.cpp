// Every differentiable operation against central differences in float64.
//
// Tolerance: with a step h = 1e-5 the difference quotient of a loss of size ~1 errs by about
// h² = 1e-10 (truncation) plus 1e-16 / h = 1e-11 (rounding); 1e-8 leaves room for sums over the
// elements, and is far below any error in a formula.
#include <functional>
#include <vector>

#include "engine/autograd/tape.hpp"
#include "engine/base/random.hpp"
#include "tests/catch.hpp"

using namespace lockstep;

namespace {

constexpr double step = 1e-5;
constexpr double tolerance = 1e-8;

struct Inputs {
  CpuDevice device;
  std::vector<Parameter> parameters;

  // Random values in ±1, none nearer to zero than 0.01, where relu has no derivative.
  Parameter& random(Shape shape) {
    const std::uint64_t seed = 100 + parameters.size();
    std::vector<double> values(static_cast<std::size_t>(numel_of(shape)));
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double u = 2 * random_uniform(seed, i) - 1;
      values[i] = u < 0 ? u - 0.01 : u + 0.01;
    }
    parameters.push_back({text("p", parameters.size()),
                          from_values(values, std::move(shape), DType::float64, device),
                          {},
                          {}});
    return parameters.back();
  }
  Tensor labels(std::vector<double> values) {
    const auto count = static_cast<std::int64_t>(values.size());
    return from_values(values, {count}, DType::int64, device);
  }
  Inputs() { parameters.reserve(8); }
};

using Function = std::function<Value(Tape&, const std::vector<Value>&)>;

double value_of(Inputs& inputs, const Function& function) {
  Tape tape(GradMode::inference);
  std::vector<Value> leaves;
  for (Parameter& p : inputs.parameters) leaves.push_back(tape.leaf(p));
  return function(tape, leaves).tensor.item();
}

void check_gradients(Inputs& inputs, const Function& function) {
  Tape tape(GradMode::record);
  std::vector<Value> leaves;
  for (Parameter& p : inputs.parameters) leaves.push_back(tape.leaf(p));
  tape.backward(function(tape, leaves));
  for (Parameter& p : inputs.parameters) {
    REQUIRE(p.grad.defined());
    for (std::size_t i = 0; i < p.value.data<double>().size(); ++i) {
      double& element = p.value.data<double>()[i];
      const double before = element;
      element = before + step;
      const double above = value_of(inputs, function);
      element = before - step;
      const double below = value_of(inputs, function);
      element = before;
      CAPTURE(p.name, i);
      CHECK(std::abs(p.grad.data<double>()[i] - (above - below) / (2 * step)) < tolerance);
    }
  }
}

// Σ weights · x as one number, so that each element of x has another derivative.
Value weighted_sum(Tape& tape, const Value& x) {
  const std::int64_t rows = x.tensor.size(0), columns = x.tensor.size(1);
  Device& device = x.tensor.device();
  auto ramp = [&](std::int64_t count) {
    std::vector<double> values;
    for (std::int64_t i = 0; i < count; ++i) values.push_back(1 + 0.1 * static_cast<double>(i));
    return values;
  };
  const Value right =
      tape.constant(from_values(ramp(columns), {1, columns}, DType::float64, device));
  const Value left = tape.constant(from_values(ramp(rows), {1, rows}, DType::float64, device));
  const Value none = tape.constant(zeros({rows}, DType::float64, device));
  const Value none1 = tape.constant(zeros({1}, DType::float64, device));
  // right·xᵀ is [1, rows]; times left is one number.
  return autograd::linear(tape, autograd::linear(tape, right, x, none), left, none1);
}

}  // namespace

TEST_CASE("gradient of linear: input, weight and bias agree with central differences") {
  for (const std::int64_t batch : {1, 3}) {
    Inputs inputs;
    inputs.random({batch, 4});
    inputs.random({5, 4});
    inputs.random({5});
    check_gradients(inputs, [](Tape& tape, const std::vector<Value>& v) {
      return weighted_sum(tape, autograd::linear(tape, v[0], v[1], v[2]));
    });
  }
}

TEST_CASE("gradient of relu agrees with central differences") {
  Inputs inputs;
  inputs.random({3, 7});
  check_gradients(inputs, [](Tape& tape, const std::vector<Value>& v) {
    return weighted_sum(tape, autograd::relu(tape, v[0]));
  });
}

TEST_CASE("gradients of add and multiply agree with central differences") {
  Inputs inputs;
  inputs.random({2, 3});
  inputs.random({2, 3});
  check_gradients(inputs, [](Tape& tape, const std::vector<Value>& v) {
    return weighted_sum(tape, autograd::add(tape, v[0], autograd::multiply(tape, v[0], v[1])));
  });
}

TEST_CASE("gradient of cross entropy agrees with central differences") {
  Inputs inputs;
  inputs.random({4, 5});
  const Tensor labels = inputs.labels({0, 4, 2, 2});
  check_gradients(inputs, [labels](Tape& tape, const std::vector<Value>& v) {
    return autograd::cross_entropy(tape, v[0], labels);
  });
}

TEST_CASE("gradient of a loss that is scaled afterwards carries the factor") {
  Inputs inputs;
  inputs.random({2, 3});
  inputs.random({1});
  const Tensor labels = inputs.labels({0, 1});
  check_gradients(inputs, [labels](Tape& tape, const std::vector<Value>& v) {
    return autograd::multiply(tape, autograd::cross_entropy(tape, v[0], labels), v[1]);
  });
}

TEST_CASE("gradients of a network with tied weights agree with central differences") {
  Inputs inputs;
  inputs.random({4, 4});
  inputs.random({4});
  const Tensor labels = inputs.labels({1, 3});
  const Tensor x = from_values(std::vector<double>{.5, -1, .3, .8, -.2, .9, 1.1, -.7}, {2, 4},
                               DType::float64, inputs.device);
  check_gradients(inputs, [labels, x](Tape& tape, const std::vector<Value>& v) {
    const Value h = autograd::relu(tape, autograd::linear(tape, tape.constant(x), v[0], v[1]));
    return autograd::cross_entropy(tape, autograd::linear(tape, h, v[0], v[1]), labels);
  });
}
