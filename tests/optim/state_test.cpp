// State that is given away and taken back: a run that goes on with it must not differ in a bit.
#include <algorithm>

#include "engine/base/bytes.hpp"
#include "engine/tensor/symbolic.hpp"
#include "tests/optim/fixture.hpp"

using namespace lockstep;
using lockstep::test::contains;
using lockstep::test::OptimFixture;
using optim::StateTensor;

namespace {

std::unique_ptr<optim::Optimizer> make(const std::string& kind, std::vector<Parameter*> all) {
  if (kind == "plain") return optim::make_sgd(std::move(all), {0.1});
  if (kind == "sgd") return optim::make_sgd(std::move(all), {0.1, 0.9, 0.01});
  if (kind == "adam") return optim::make_adam(std::move(all), {.weight_decay = 0.01});
  return optim::make_adamw(std::move(all), {.weight_decay = 0.01});
}

std::vector<std::string> names_of(const std::vector<StateTensor>& state) {
  std::vector<std::string> names;
  for (const StateTensor& tensor : state) names.push_back(tensor.name);
  return names;
}

bool same_bits(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && a.dtype() == b.dtype() &&
         std::ranges::equal(a.raw_bytes(), b.raw_bytes());
}

}  // namespace

TEST_CASE_METHOD(OptimFixture, "state: has PyTorch's names, and only of parameters with updates") {
  Parameter a = parameter({1, 2}, DType::float32, "0.weight"),
            b = parameter({1}, DType::float32, "0.bias");
  a.grad = gradient({1, 1}, DType::float32);
  const auto names = [&](const std::string& kind) {
    const auto optimizer = make(kind, {&a, &b});
    CHECK(optimizer->state().empty());
    optimizer->step();
    return names_of(optimizer->state());
  };
  using Names = std::vector<std::string>;
  CHECK(names("plain") == Names{});
  CHECK(names("sgd") == Names{"0.weight.momentum_buffer"});
  CHECK(names("adam") == Names{"0.weight.step", "0.weight.exp_avg", "0.weight.exp_avg_sq"});
  CHECK(names("adamw") == names("adam"));
}

TEST_CASE_METHOD(OptimFixture,
                 "state: five steps, away and back, five more are ten steps, bit for bit") {
  for (const std::string kind : {"plain", "sgd", "adam", "adamw"}) {
    for (const DType dtype : {DType::float32, DType::float64}) {
      CAPTURE(kind, name_of(dtype));
      Parameter straight = parameter({1, -2, 0.5}, dtype), first = parameter({1, -2, 0.5}, dtype);
      const auto whole = make(kind, {&straight});
      steps(straight, *whole, 1, 10);

      auto before = make(kind, {&first});
      steps(first, *before, 1, 5);
      Parameter second{"p", first.value.clone(), {}, {}};
      const auto after = make(kind, {&second});
      after->load_state(before->state());
      steps(first, *before, 6, 7);  // what was taken is a copy
      steps(second, *after, 6, 10);

      CHECK(same_bits(second.value, straight.value));
      const auto want = whole->state(), got = after->state();
      REQUIRE(names_of(got) == names_of(want));
      for (std::size_t i = 0; i < got.size(); ++i) CHECK(same_bits(got[i].value, want[i].value));
    }
  }
}

TEST_CASE_METHOD(OptimFixture, "state: what is loaded replaces what was there, nothing included") {
  Parameter a = parameter({1, -2, 0.5});
  const auto optimizer = make("adam", {&a});
  steps(a, *optimizer, 1, 3);
  optimizer->load_state({});
  CHECK(optimizer->state().empty());
  CHECK(device.bytes_now(MemoryKind::optimizer_state) == 0);
}

TEST_CASE_METHOD(OptimFixture, "state: what does not fit is refused by name, and nothing changes") {
  Parameter a = parameter({1, -2, 0.5});
  const auto adam = make("adam", {&a}), sgd = make("sgd", {&a});
  steps(a, *adam, 1, 3);
  const auto good = adam->state();
  const auto refused = [&](std::vector<StateTensor> state, const std::string& why) {
    CHECK_THROWS_AS(adam->load_state(state), UsageError);
    CHECK_THROWS_WITH(adam->load_state(state), contains(why));
  };
  refused({good[0], good[1]}, "p.exp_avg_sq is missing");
  refused({good[0], good[1], {"p.exp_avg_sq", zeros({4}, DType::float64, device)}},
          "p.exp_avg_sq is float64 [4], but this model's is float64 [3]");
  refused({good[0], good[1], {"p.exp_avg_sq", zeros({3}, DType::float32, device)}},
          "is float32 [3], but this model's is float64 [3]");
  refused({{"p.step", zeros({}, DType::int64, device)}, good[1], good[2]}, "p.step is 0");
  refused({{"p.step", zeros({1}, DType::int64, device)}, good[1], good[2]}, "int64 [1]");
  refused({good[0], good[1], good[2], {"q.exp_avg", good[1].value}},
          "q.exp_avg belongs to nothing");
  refused({good[0], good[1], good[2], good[1]}, "twice");
  CHECK_THROWS_WITH(sgd->load_state(good), contains("p.step belongs to nothing here: sgd"));
  const auto now = adam->state();
  REQUIRE(names_of(now) == names_of(good));
  for (std::size_t i = 0; i < now.size(); ++i) CHECK(same_bits(now[i].value, good[i].value));
}

TEST_CASE_METHOD(OptimFixture, "state: two parameters of one name are refused") {
  Parameter a = parameter({1}), b = parameter({1});
  CHECK_THROWS_AS(make("adam", {&a, &b})->state(), ContractError);
}

TEST_CASE("state: on a device without numbers it has its names and shapes, and goes back") {
  SymbolicDevice device;
  Parameter p{"w", zeros({3}, DType::float32, device), zeros({3}, DType::float32, device), {}};
  const auto optimizer = make("adam", {&p}), other = make("adam", {&p});
  optimizer->step();
  const auto state = optimizer->state();
  CHECK(names_of(state) == std::vector<std::string>{"w.step", "w.exp_avg", "w.exp_avg_sq"});
  other->load_state(state);
  CHECK(names_of(other->state()) == names_of(state));
}

TEST_CASE("state: a first step that finds no memory leaves none, and the next one begins anew") {
  struct Small final : Device {
    Small() : Device(Numbers::on_host) {}
    CpuDevice memory;
    int blocks_left = 3;
    std::string_view name() const override { return "small"; }
    const Kernels& kernels() const override { return memory.kernels(); }
    std::byte* allocate(std::size_t bytes) override {
      if (--blocks_left < 0) throw Error("the memory is spent");
      return memory.allocate(bytes);
    }
    void release(std::byte* data, std::size_t bytes) noexcept override {
      memory.release(data, bytes);
    }
  } device;
  Parameter p{"w", full({3}, 1, DType::float32, device), full({3}, 1, DType::float32, device), {}};
  const auto optimizer = make("adam", {&p});
  CHECK_THROWS_AS(optimizer->step(), Error);  // room for one tensor of the two
  CHECK(optimizer->state().empty());
  device.blocks_left = 9;
  optimizer->step();
  CHECK(optimizer->state().size() == 3);
}
