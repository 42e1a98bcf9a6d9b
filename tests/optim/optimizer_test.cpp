#include "engine/optim/optimizer.hpp"

#include <vector>

#include "tests/catch.hpp"

using namespace lockstep;
using lockstep::test::Approx;

namespace {

struct Fixture {
  CpuDevice device;

  Parameter parameter(std::vector<double> values, DType dtype = DType::float64) {
    const auto count = static_cast<std::int64_t>(values.size());
    return {"p", from_values(values, {count}, dtype, device), {}, {}};
  }
  Tensor gradient(std::vector<double> values, DType dtype = DType::float64) {
    const auto count = static_cast<std::int64_t>(values.size());
    return from_values(values, {count}, dtype, device, MemoryKind::gradients);
  }

  // The four steps of golden.py: the gradient is (k + 1)·(0.1, -0.2, 0.3) + p/4.
  std::vector<double> four_steps(Parameter& p, optim::Optimizer& optimizer) {
    for (int k = 1; k <= 4; ++k) {
      std::vector<double> g;
      for (std::int64_t i = 0; i < 3; ++i) {
        g.push_back(std::vector{0.1, -0.2, 0.3}[static_cast<std::size_t>(i)] * k +
                    0.25 * p.value.item(i));
      }
      p.grad = gradient(g, p.value.dtype());
      optimizer.step();
    }
    return {p.value.item(0), p.value.item(1), p.value.item(2)};
  }
};

// A handful of roundings of numbers of size one.
void check_close(const std::vector<double>& got, const std::vector<double>& want,
                 double tolerance = 1e-14) {
  REQUIRE(got.size() == want.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    CAPTURE(i);
    CHECK(std::abs(got[i] - want[i]) < tolerance);
  }
}

const std::vector<double> start = {1, -2, 0.5};
const std::vector<double> golden_sgd = {0.80615679687499997, -1.6123135937499999,
                                        0.15925066406250002};
const std::vector<double> golden_momentum = {0.60158398437499994, -1.2031679687499999,
                                             -0.15103417968750002};
const std::vector<double> golden_decay = {0.59341970153599999, -1.186839403072,
                                          -0.15463533983200001};
const std::vector<double> golden_adam = {0.95999950800444223, -1.9600039668713836,
                                         0.46068185205731949};
const std::vector<double> golden_betas = {0.79853313066446319, -1.7985384639873492,
                                          0.30060331113325589};

}  // namespace

TEST_CASE_METHOD(Fixture, "sgd: four steps are PyTorch's, plain, with momentum, with decay") {
  Parameter plain = parameter(start), momentum = parameter(start), decay = parameter(start);
  check_close(four_steps(plain, *optim::make_sgd({&plain}, {0.1, 0, 0})), golden_sgd);
  check_close(four_steps(momentum, *optim::make_sgd({&momentum}, {0.1, 0.9, 0})), golden_momentum);
  check_close(four_steps(decay, *optim::make_sgd({&decay}, {0.1, 0.9, 0.01})), golden_decay);
}

TEST_CASE_METHOD(Fixture, "adam: four steps are PyTorch's, with default and with other betas") {
  Parameter usual = parameter(start), betas = parameter(start);
  check_close(four_steps(usual, *optim::make_adam({&usual}, {0.01})), golden_adam);
  check_close(four_steps(betas, *optim::make_adam({&betas}, {0.05, 0.8, 0.95, 1e-4})),
              golden_betas);
}

TEST_CASE_METHOD(Fixture, "optimizers: float32 follows float64 to its own precision") {
  Parameter a = parameter(start, DType::float32), b = parameter(start, DType::float32);
  check_close(four_steps(a, *optim::make_sgd({&a}, {0.1, 0.9, 0})), golden_momentum, 1e-6);
  check_close(four_steps(b, *optim::make_adam({&b}, {0.01})), golden_adam, 1e-6);
}

TEST_CASE_METHOD(Fixture,
                 "optimizers: a parameter without gradient is left alone, and its state too") {
  for (const bool adam : {false, true}) {
    Parameter a = parameter({1}), b = parameter({1});
    const auto optimizer =
        adam ? optim::make_adam({&a, &b}, {0.1}) : optim::make_sgd({&a, &b}, {0.1, 0.9, 0});
    a.grad = gradient({1});
    optimizer->step();
    CHECK(a.value.item() != 1);
    CHECK(b.value.item() == 1);
    // b's first update comes late and is a first update all the same.
    const double first = a.value.item();
    a.grad = {};
    b.grad = gradient({1});
    optimizer->step();
    CHECK(b.value.item() == first);
    CHECK(a.value.item() == first);
  }
}

TEST_CASE_METHOD(Fixture, "optimizers: zero_grad makes gradients undefined, the rate can be set") {
  Parameter a = parameter({1});
  const auto optimizer = optim::make_sgd({&a}, {0.1, 0, 0});
  a.grad = gradient({1});
  CHECK(optimizer->parameters().size() == 1);
  CHECK(optimizer->parameters()[0] == &a);
  CHECK(optimizer->learning_rate() == 0.1);
  optimizer->set_learning_rate(0.5);
  optimizer->step();
  CHECK(a.value.item() == 0.5);
  optimizer->zero_grad();
  CHECK_FALSE(a.grad.defined());
  CHECK(device.bytes_now(MemoryKind::gradients) == 0);
}

TEST_CASE_METHOD(Fixture,
                 "optimizers: state is counted: none for plain sgd, one or two copies else") {
  Parameter a = parameter({1, 2, 3});
  auto bytes_of_state = [&](std::unique_ptr<optim::Optimizer> optimizer) {
    a.grad = gradient({1, 1, 1});
    optimizer->step();
    return device.bytes_now(MemoryKind::optimizer_state);
  };
  CHECK(bytes_of_state(optim::make_sgd({&a}, {0.1, 0, 0})) == 0);
  CHECK(bytes_of_state(optim::make_sgd({&a}, {0.1, 0.9, 0})) == 24);
  CHECK(bytes_of_state(optim::make_adam({&a}, {})) == 48);
}

TEST_CASE_METHOD(Fixture,
                 "clip: the global norm is measured, and gradients scaled as PyTorch does") {
  Parameter a = parameter({0, 0}), b = parameter({0, 0}), none = parameter({0});
  a.grad = gradient({3, -4});
  b.grad = gradient({12, 0});
  const std::vector<Parameter*> all = {&a, &none, &b};
  CHECK(optim::clip_grad_norm(all, 0) == 13);
  CHECK(optim::clip_grad_norm(all, -1) == 13);
  CHECK(optim::clip_grad_norm(all, 13) == 13);
  CHECK(a.grad.item(1) == -4);
  CHECK(optim::clip_grad_norm(all, 2) == 13);
  check_close({a.grad.item(0), a.grad.item(1), b.grad.item(0), b.grad.item(1)},
              {0.46153842603550577, -0.61538456804734099, 1.8461537041420231, 0});
  CHECK(optim::clip_grad_norm(all, 0) == Approx(2).epsilon(1e-6));
}
