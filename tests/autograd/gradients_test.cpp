// Every differentiable operation against central differences in float64.
//
// Tolerance: with a step h = 1e-5 the difference quotient of a loss of size ~1 errs by about
// h² = 1e-10 (truncation) plus 1e-16 / h = 1e-11 (rounding); 1e-8 leaves room for sums over the
// elements, and is far below any error in a formula.
#include <functional>
#include <vector>

#include "engine/autograd/activation_checkpoint.hpp"
#include "engine/autograd/operations.hpp"
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
  std::vector<double> ramp;
  for (std::int64_t i = 0; i < x.tensor.numel(); ++i) {
    ramp.push_back(1 + 0.1 * static_cast<double>(i % 37));
  }
  const Tensor weights = from_values(ramp, x.tensor.shape(), DType::float64, x.tensor.device());
  return autograd::sum(tape, autograd::multiply(tape, x, tape.constant(weights)));
}

// Checks function of random inputs of these shapes.
void check(std::vector<Shape> shapes, const Function& function) {
  Inputs inputs;
  for (Shape& shape : shapes) inputs.random(std::move(shape));
  check_gradients(inputs, [&](Tape& tape, const std::vector<Value>& v) {
    return weighted_sum(tape, function(tape, v));
  });
}

}  // namespace

TEST_CASE("gradient of linear: input, weight and bias agree with central differences") {
  for (const Shape& x : {Shape{1, 4}, Shape{3, 4}, Shape{2, 3, 4}}) {
    check({x, {5, 4}, {5}}, [](Tape& tape, const std::vector<Value>& v) {
      return autograd::linear(tape, v[0], v[1], v[2]);
    });
    check({x, {5, 4}}, [](Tape& tape, const std::vector<Value>& v) {
      return autograd::linear(tape, v[0], v[1]);
    });
  }
}

TEST_CASE("gradient of matmul agrees with central differences") {
  check({{3, 4}, {4, 2}},
        [](Tape& tape, const std::vector<Value>& v) { return autograd::matmul(tape, v[0], v[1]); });
}

TEST_CASE("gradients of activations agree with central differences") {
  using ops::Activation;
  for (const Activation activation : {Activation::relu, Activation::gelu, Activation::gelu_exact,
                                      Activation::silu, Activation::tanh, Activation::sigmoid}) {
    CAPTURE(ops::name_of(activation));
    check({{3, 7}}, [=](Tape& tape, const std::vector<Value>& v) {
      return autograd::activate(tape, v[0], activation);
    });
  }
  check({{3, 7}},
        [](Tape& tape, const std::vector<Value>& v) { return autograd::relu(tape, v[0]); });
}

TEST_CASE("gradients of add, subtract and multiply, broadcast or not, agree with differences") {
  for (const auto& [a, b] : std::vector<std::pair<Shape, Shape>>{
           {{2, 3}, {2, 3}}, {{2, 3}, {3}}, {{1}, {2, 3}}, {{2, 1, 3}, {4, 1}}}) {
    CAPTURE(text_of(a), text_of(b));
    check({a, b}, [](Tape& tape, const std::vector<Value>& v) {
      return autograd::add(tape, v[0],
                           autograd::subtract(tape, autograd::multiply(tape, v[0], v[1]), v[1]));
    });
  }
}

TEST_CASE("gradients of scale, sum and mean agree with central differences") {
  check({{2, 3}}, [](Tape& tape, const std::vector<Value>& v) {
    return autograd::multiply(
        tape, autograd::scale(tape, v[0], -2.5),
        autograd::add(tape, autograd::sum(tape, v[0]), autograd::mean(tape, v[0])));
  });
}

TEST_CASE("gradient of softmax agrees with central differences") {
  for (const Shape& x : {Shape{1, 1}, Shape{2, 9}, Shape{2, 2, 3}}) {
    check({x},
          [](Tape& tape, const std::vector<Value>& v) { return autograd::softmax(tape, v[0]); });
  }
}

TEST_CASE("gradients of the norms agree with central differences, also remade for a linear layer") {
  check({{2, 3, 9}, {9}, {9}}, [](Tape& tape, const std::vector<Value>& v) {
    return autograd::layer_norm(tape, v[0], v[1], v[2]);
  });
  check({{3, 9}, {9}}, [](Tape& tape, const std::vector<Value>& v) {
    return autograd::rms_norm(tape, v[0], v[1]);
  });
  check({{3, 4}, {4}, {4}, {2, 4}}, [](Tape& tape, const std::vector<Value>& v) {
    const Value normal = autograd::layer_norm(tape, v[0], v[1], v[2]);
    const Value curved = autograd::activate(tape, normal, ops::Activation::gelu);
    return autograd::linear(tape, curved, v[3]);
  });
}

TEST_CASE("gradient of embedding agrees with central differences, a row used twice too") {
  Inputs any;
  const Tensor indices = any.labels({2, 0, 2, 3});
  check({{4, 3}}, [&](Tape& tape, const std::vector<Value>& v) {
    return autograd::embedding(tape, v[0], indices.view({2, 2}));
  });
}

TEST_CASE("gradient of dropout agrees with central differences") {
  check({{4, 9}}, [](Tape& tape, const std::vector<Value>& v) {
    return autograd::dropout(tape, v[0], {0.3, 5, 2, 3});
  });
}

TEST_CASE("gradient of causal attention agrees with central differences") {
  for (const std::int64_t heads : {1, 2}) {
    check({{2, 5, 12}}, [=](Tape& tape, const std::vector<Value>& v) {
      return autograd::causal_attention(tape, v[0], heads);
    });
  }
}

TEST_CASE("gradient of attention to a block agrees with central differences") {
  // Of the queries, the first sees nothing, and the last all.
  const Positions queries{{0, 1}, {4, 3}}, keys{{1, 2}, {5, 2}};
  for (const std::int64_t heads : {1, 2}) {
    check({{2, 4, 4}, {2, 4, 8}}, [=](Tape& tape, const std::vector<Value>& v) {
      return autograd::attention(tape, v[0], v[1], {heads, queries, keys});
    });
  }
}

TEST_CASE("gradients of view, transpose, narrow and concatenate agree with central differences") {
  check({{2, 3, 2}, {2, 1, 2}}, [](Tape& tape, const std::vector<Value>& v) {
    const std::vector<Value> parts = {v[0], v[1], v[0]};
    const Value joined = autograd::concatenate(tape, parts, 1);  // [2, 7, 2]
    const Value middle = autograd::narrow(tape, joined, 1, 2, 4);
    return autograd::view(tape, autograd::transpose(tape, middle, 0, 2), {4, 4});
  });
}

TEST_CASE("gradients through recompute agree with central differences") {
  check({{3, 4}}, [](Tape& tape, const std::vector<Value>& v) {
    return autograd::recompute(tape, v[0], [&](Tape& on, const Value& x) {
      return autograd::activate(on, autograd::multiply(on, x, x), ops::Activation::tanh);
    });
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

TEST_CASE("gradient of summed cross entropy with ignored labels agrees with differences") {
  Inputs inputs;
  inputs.random({4, 5});
  const Tensor labels = inputs.labels({0, -7, 2, 2});
  check_gradients(inputs, [labels](Tape& tape, const std::vector<Value>& v) {
    return autograd::cross_entropy(tape, v[0], labels, {ops::Reduction::sum, -7});
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
