// Masters: what they keep that 16-bit weights lose, and a step whose gradients overflow.
#include "engine/optim/master_optimizer.hpp"

#include <limits>

#include "engine/optim/optimizer_spec.hpp"
#include "tests/optim/fixture.hpp"

using namespace lockstep;
using lockstep::test::contains;
using lockstep::test::OptimFixture;
using optim::MasterOptimizer;
using optim::MasterOptions;

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

struct MastersFixture : OptimFixture {
  Parameter master = parameter({1, -3, 0.5}, DType::float32);
  Parameter rounded = parameter({0, 0, 0}, DType::float16);

  std::unique_ptr<MasterOptimizer> optimizer(const optim::OptimizerSpec& spec,
                                             const MasterOptions& options) {
    return std::make_unique<MasterOptimizer>(optim::make_optimizer(spec, {&master}),
                                             std::vector{&rounded}, options);
  }
};

optim::OptimizerSpec adamw(double rate = 1e-3) {
  optim::OptimizerSpec spec;
  spec.kind = optim::OptimizerKind::adamw;
  spec.adam = {.learning_rate = rate, .weight_decay = 0.01};
  return spec;
}

}  // namespace

TEST_CASE_METHOD(
    OptimFixture,
    "masters: a hundred updates of 1e-4 each move a weight by 1 %, which 16 bits lose") {
  for (const DType dtype : {DType::bfloat16, DType::float16}) {
    CAPTURE(name_of(dtype));
    optim::OptimizerSpec spec;
    spec.sgd = {.learning_rate = 1e-4};
    Parameter alone = parameter({1}, dtype), rounded = parameter({1}, dtype);
    Parameter master = parameter({1}, DType::float32);
    const auto in_16_bits = optim::make_optimizer(spec, {&alone});
    MasterOptimizer with_masters(optim::make_optimizer(spec, {&master}), {&rounded}, {});
    for (int k = 0; k < 100; ++k) {
      alone.grad = gradient({1}, dtype);
      rounded.grad = gradient({1}, dtype);
      in_16_bits->step();
      with_masters.step();
    }
    CHECK(alone.value.item() == 1);
    CHECK(std::abs(master.value.item() - 0.99) <= 100 * 0x1p-25);  // a rounding a step
    CHECK(rounded.value.item() == master.value.to(dtype).item());
    CHECK(rounded.value.item() < 0.995);
  }
}

TEST_CASE_METHOD(
    MastersFixture,
    "masters: a scaled, clipped step is that of float32 with the same gradients, to the "
    "bit") {
  const auto clip = GENERATE(0.0, 0.25);
  const auto scaled = optim::LossScalerOptions{.initial_scale = 1024};
  const auto mixed = optimizer(adamw(), {clip, scaled});
  Parameter plain = parameter({1, -3, 0.5}, DType::float32);
  const auto usual = optim::make_optimizer(adamw(), {&plain});
  for (int k = 1; k <= 4; ++k) {
    const std::vector<double> g = {0.5 * k, -0.25, 0.125};
    rounded.grad = gradient({1024 * g[0], 1024 * g[1], 1024 * g[2]}, DType::float16);
    plain.grad = gradient(g, DType::float32);
    mixed->step();
    optim::clip_grad_norm(std::vector{&plain}, clip);
    usual->step();
    CHECK(values_of(master.value) == values_of(plain.value));
    CHECK(values_of(rounded.value) == values_of(plain.value.to(DType::float16)));
  }
}

TEST_CASE_METHOD(
    MastersFixture,
    "masters: a step that overflows changes neither weights nor state nor their count") {
  const auto mixed = optimizer(adamw(), {0, optim::LossScalerOptions{}});
  rounded.grad = gradient({65536.0 / 4, 100, -7}, DType::float16);
  mixed->step();
  const auto weights = values_of(master.value), halves = values_of(rounded.value);
  const auto before = mixed->state();
  std::vector<std::vector<double>> state;
  for (const auto& [name, value] : before) state.push_back(values_of(value));
  for (const double bad : {infinite, -infinite, std::numeric_limits<double>::quiet_NaN()}) {
    rounded.grad = gradient({1, bad, 1}, DType::float16);
    mixed->step();
  }
  CHECK(values_of(master.value) == weights);
  CHECK(values_of(rounded.value) == halves);
  const auto after = mixed->state();
  REQUIRE(after.size() == state.size());
  CHECK(after.front().name == "p.step");
  for (std::size_t i = 0; i < after.size(); ++i) CHECK(values_of(after[i].value) == state[i]);
  CHECK(mixed->loss_scale() == 65536.0 / 8);
  CHECK(mixed->scaler()->skipped() == 3);

  rounded.grad = gradient({1, 1, 1}, DType::float16);
  mixed->step();
  CHECK(mixed->state().front().value.item() == 2);
  CHECK(values_of(master.value) != weights);
}

TEST_CASE_METHOD(MastersFixture, "masters: a scale that no step can use ends with what to do") {
  const auto mixed =
      optimizer(adamw(), {0, optim::LossScalerOptions{.initial_scale = 4, .least = 1}});
  const auto overflow = [&] {
    rounded.grad = gradient({infinite, 0, 0}, DType::float16);
    mixed->step();
  };
  overflow();
  overflow();
  CHECK(mixed->loss_scale() == 1);
  CHECK_THROWS_WITH(overflow(), contains("at every loss scale down to 1") &&
                                    contains("pass a smaller --lr, or --dtype bfloat16"));
}

TEST_CASE_METHOD(
    OptimFixture,
    "masters: a step holds gradients of 16 bits, and one of them in float32 at a time") {
  std::vector<Parameter> masters, rounded;
  for (const std::int64_t count : {1000, 3000, 500}) {
    const std::vector<double> zeros(static_cast<std::size_t>(count));
    masters.push_back(parameter(zeros, DType::float32, text(count)));
    masters.back().value.relabel(MemoryKind::optimizer_state);
    rounded.push_back(parameter(zeros, DType::bfloat16, text(count)));
    rounded.back().value.relabel(MemoryKind::parameters);
  }
  const std::vector all = {&rounded[0], &rounded[1], &rounded[2]};
  MasterOptimizer mixed(optim::make_optimizer(adamw(), {&masters[0], &masters[1], &masters[2]}),
                        all, {.clip_norm = 1});
  for (Parameter* p : all) {
    p->grad = gradient(std::vector<double>(static_cast<std::size_t>(p->value.numel()), 1),
                       DType::bfloat16);
  }
  device.reset_peak();
  mixed.step();
  CHECK(device.bytes_now(MemoryKind::parameters) == 2 * 4500);
  CHECK(device.bytes_now(MemoryKind::gradients) == 2 * 4500);
  CHECK(device.bytes_peak(MemoryKind::gradients) == 2 * 4500 + 4 * 3000);
  CHECK(device.bytes_now(MemoryKind::optimizer_state) == 12 * 4500);
}

TEST_CASE_METHOD(MastersFixture,
                 "masters: a parameter without gradient keeps its master and state") {
  Parameter other = parameter({2}, DType::float32, "q"),
            unused = parameter({0}, DType::float16, "q");
  MasterOptimizer mixed(optim::make_optimizer(adamw(), {&master, &other}), {&rounded, &unused}, {});
  CHECK(unused.value.item() == 2);
  rounded.grad = gradient({1, 1, 1}, DType::float16);
  mixed.step();
  CHECK(other.value.item() == 2);
  CHECK(mixed.state().size() == 3);
  CHECK_THROWS_WITH(MasterOptimizer(optim::make_optimizer(adamw(), {&master}), {&unused}, {}),
                    contains("is no master of q"));
}
