#include "engine/optim/optimizer.hpp"

#include <functional>
#include <limits>

#include "engine/optim/optimizer_spec.hpp"
#include "tests/optim/fixture.hpp"

using namespace lockstep;
using lockstep::test::Approx;
using lockstep::test::check_close;
using lockstep::test::OptimFixture;
using optim::Nesterov;

namespace {

using Make = std::function<std::unique_ptr<optim::Optimizer>(Parameter&)>;

Make sgd(const optim::SgdOptions& options) {
  return [=](Parameter& p) { return optim::make_sgd({&p}, options); };
}
Make adam(const optim::AdamOptions& options) {
  return [=](Parameter& p) { return optim::make_adam({&p}, options); };
}
Make adamw(const optim::AdamOptions& options) {
  return [=](Parameter& p) { return optim::make_adamw({&p}, options); };
}

// What golden.py prints.
struct Golden {
  const char* name;
  Make make;
  std::vector<double> float64, float32;
};
std::vector<Golden> golden() {
  return {
      {"sgd",
       sgd({0.1}),
       {0.80615679687499997, -1.6123135937499999, 0.15925066406250002},
       {0.80615675449371338, -1.6123135089874268, 0.1592506468296051}},
      {"momentum",
       sgd({0.1, 0.9}),
       {0.60158398437499994, -1.2031679687499999, -0.15103417968750002},
       {0.60158395767211914, -1.2031679153442383, -0.15103417634963989}},
      {"momentum decay",
       sgd({0.1, 0.9, 0.01}),
       {0.59341970153599999, -1.186839403072, -0.15463533983200001},
       {0.59341973066329956, -1.1868394613265991, -0.15463536977767944}},
      {"nesterov decay",
       sgd({0.1, 0.9, 0.01, Nesterov::yes}),
       {0.45298159465002563, -0.90596318930005126, -0.40811391874024727},
       {0.45298159122467041, -0.90596318244934082, -0.40811389684677124}},
      {"adam",
       adam({0.01}),
       {0.95999950800444223, -1.9600039668713836, 0.46068185205731949},
       {0.95999950170516968, -1.9600039720535278, 0.46068185567855835}},
      {"adam betas",
       adam({0.05, 0.8, 0.95, 1e-4}),
       {0.79853313066446319, -1.7985384639873492, 0.30060331113325589},
       {0.79853314161300659, -1.7985385656356812, 0.30060330033302307}},
      {"adam decay",
       adam({.learning_rate = 0.01, .weight_decay = 0.1}),
       {0.95993023254292842, -1.9599337585266943, 0.46055250193954872},
       {0.95993024110794067, -1.9599337577819824, 0.46055251359939575}},
      {"adam low beta",
       adam({0.01, 0.25, 0.95}),
       {0.95619231503179491, -1.9561592895770852, 0.45390201772397792},
       {0.95619231462478638, -1.9561593532562256, 0.45390203595161438}},
      {"adamw",
       adamw({.learning_rate = 0.01, .weight_decay = 0.1}),
       {0.95606455854591088, -1.9520749961897652, 0.45874369090876216},
       {0.95606464147567749, -1.9520752429962158, 0.45874372124671936}},
  };
}

const std::vector<double> start = {1, -2, 0.5};

}  // namespace

TEST_CASE_METHOD(OptimFixture, "optimizers: four steps are PyTorch's, in each form") {
  for (const auto& [name, make, float64, float32] : golden()) {
    CAPTURE(name);
    Parameter p = parameter(start), q = parameter(start, DType::float32);
    // A handful of roundings of numbers below 2: PyTorch's vector code may fuse a multiplication
    // with an addition where ours rounds twice.
    check_close(four_steps(p, *make(p)), float64, 2e-15);
    check_close(four_steps(q, *make(q)), float32, 1e-6);
  }
}

TEST_CASE_METHOD(OptimFixture,
                 "optimizers: a parameter without gradient is left alone, and its state too") {
  for (const bool with_adam : {false, true}) {
    Parameter a = parameter({1}), b = parameter({1});
    const auto optimizer =
        with_adam ? optim::make_adam({&a, &b}, {0.1}) : optim::make_sgd({&a, &b}, {0.1, 0.9, 0});
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

TEST_CASE_METHOD(OptimFixture, "optimizers: parameters of few dimensions may be left undecayed") {
  for (const int form : {0, 1, 2}) {
    Parameter vector = parameter({1, 1}), matrix = parameter({1, 1});
    matrix.value = matrix.value.view({2, 1});
    const std::vector<Parameter*> both = {&vector, &matrix};
    const optim::AdamOptions options{
        .learning_rate = 0.1, .weight_decay = 0.5, .decay_dims_min = 2};
    const auto optimizer = form == 0
                               ? optim::make_sgd(both, {.weight_decay = 0.5, .decay_dims_min = 2})
                           : form == 1 ? optim::make_adam(both, options)
                                       : optim::make_adamw(both, options);
    vector.grad = gradient({0, 0});
    matrix.grad = gradient({0, 0}).view({2, 1});
    optimizer->step();
    CAPTURE(optimizer->kind());
    CHECK(vector.value.item() == 1);
    CHECK(matrix.value.item() < 1);
  }
}

TEST_CASE_METHOD(OptimFixture, "optimizers: a range of a matrix is decayed as the matrix is") {
  Parameter of_matrix = parameter({1, 1}), of_vector = parameter({1, 1});
  of_matrix.whole = Shape{3, 2};
  of_vector.whole = Shape{7};
  const auto optimizer = optim::make_adamw(
      {&of_matrix, &of_vector}, {.learning_rate = 0.1, .weight_decay = 0.5, .decay_dims_min = 2});
  of_matrix.grad = gradient({0, 0});
  of_vector.grad = gradient({0, 0});
  optimizer->step();
  CHECK(of_matrix.value.item() < 1);
  CHECK(of_vector.value.item() == 1);
}

TEST_CASE_METHOD(OptimFixture, "sgd: Nesterov without momentum is refused") {
  Parameter a = parameter({1});
  CHECK_THROWS_AS(optim::make_sgd({&a}, {.nesterov = Nesterov::yes}), ContractError);
}

TEST_CASE_METHOD(OptimFixture,
                 "optimizers: zero_grad makes gradients undefined, the rate can be set") {
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

TEST_CASE_METHOD(OptimFixture,
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

TEST_CASE_METHOD(OptimFixture,
                 "clip: the global norm is measured, and gradients scaled as PyTorch does") {
  Parameter a = parameter({0, 0}), b = parameter({0, 0}), none = parameter({0});
  a.grad = gradient({3, -4});
  b.grad = gradient({12, 0});
  const std::vector<Parameter*> all = {&a, &none, &b};
  CHECK(optim::clip_grad_norm(all, 0).item() == 13);
  CHECK(optim::clip_grad_norm(all, -1).item() == 13);
  CHECK(optim::clip_grad_norm(all, 14).item() == 13);
  CHECK(a.grad.item(1) == -4);
  CHECK(optim::clip_grad_norm(all, 2).item() == 13);
  check_close({a.grad.item(0), a.grad.item(1), b.grad.item(0), b.grad.item(1)},
              {0.46153842603550577, -0.61538456804734099, 1.8461537041420231, 0}, 1e-15);
  CHECK(optim::clip_grad_norm(all, 0).item() == Approx(2).epsilon(1e-6));
}

TEST_CASE_METHOD(OptimFixture,
                 "clip: at the bound itself PyTorch scales too, by 13 / (13 + 1e-6)") {
  Parameter a = parameter({0, 0}), b = parameter({0, 0});
  a.grad = gradient({3, -4});
  b.grad = gradient({12, 0});
  CHECK(optim::clip_grad_norm(std::vector{&a, &b}, 13).item() == 13);
  // golden.py; one rounding of numbers below 16.
  check_close({a.grad.item(0), a.grad.item(1), b.grad.item(0), b.grad.item(1)},
              {2.9999997692307874, -3.9999996923077163, 11.999999076923149, 0}, 2e-15);
}

TEST_CASE_METHOD(OptimFixture,
                 "clip: a norm that is not finite is returned, and the gradients are left") {
  Parameter a = parameter({0, 0});
  a.grad = gradient({3, std::numeric_limits<double>::infinity()});
  CHECK(optim::clip_grad_norm(std::vector{&a}, 2).item() ==
        std::numeric_limits<double>::infinity());
  CHECK(a.grad.item(0) == 3);
  a.grad = gradient({3, std::numeric_limits<double>::quiet_NaN()});
  CHECK(std::isnan(optim::clip_grad_norm(std::vector{&a}, 2).item()));
  CHECK(a.grad.item(0) == 3);
}

TEST_CASE("optimizer: made from a spec, it is of that kind, with that kind's options") {
  CpuDevice device;
  Parameter p{"p", full({2}, 1, DType::float64, device), {}, {}};
  optim::OptimizerSpec spec;
  spec.sgd.learning_rate = 0.25;
  spec.adam.learning_rate = 0.5;
  for (const auto kind :
       {optim::OptimizerKind::sgd, optim::OptimizerKind::adam, optim::OptimizerKind::adamw}) {
    spec.kind = kind;
    const auto optimizer = optim::make_optimizer(spec, {&p});
    CHECK(optimizer->kind() == name_of(kind));
    CHECK(optimizer->learning_rate() == spec.learning_rate());
    CHECK(spec.learning_rate() == (kind == optim::OptimizerKind::sgd ? 0.25 : 0.5));
    CHECK(optimizer->parameters().size() == 1);
  }
}
