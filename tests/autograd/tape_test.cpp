// What the tape promises about order, counting and memory; values are in gradients_test.cpp.
#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "engine/autograd/activation_checkpoint.hpp"
#include "engine/autograd/operations.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using lockstep::test::contains;

namespace {

struct Fixture {
  CpuDevice device;

  Parameter parameter(const char* name, std::vector<double> values) {
    const auto count = static_cast<std::int64_t>(values.size());
    return {
        name, from_values(values, {count}, DType::float64, device, MemoryKind::parameters), {}, {}};
  }
  Parameter matrix(const char* name, std::vector<double> values, Shape shape) {
    return {name, from_values(values, std::move(shape), DType::float64, device), {}, {}};
  }
};

// A one-element product of leaves, whose derivatives are easy to see.
Value product(Tape& tape, const std::vector<Value>& factors) {
  Value result = factors[0];
  for (std::size_t i = 1; i < factors.size(); ++i) {
    result = autograd::multiply(tape, result, factors[i]);
  }
  return result;
}

}  // namespace

TEST_CASE_METHOD(Fixture, "tape: a leaf used in two places receives the sum of both") {
  Parameter a = parameter("a", {3}), b = parameter("b", {5});
  Tape tape(GradMode::record);
  const Value x = tape.leaf(a), y = tape.leaf(b);
  tape.backward(autograd::add(tape, product(tape, {x, y}), product(tape, {x, x})));
  CHECK(a.grad.item() == 5 + 2 * 3);
  CHECK(b.grad.item() == 3);
}

TEST_CASE_METHOD(Fixture, "tape: a tied parameter, taken as leaf twice, fires its hooks once") {
  Parameter a = parameter("a", {3});
  int fired = 0;
  a.hooks.push_back([&](Parameter& p) {
    ++fired;
    CHECK(p.grad.item() == 6);  // complete when the hook runs
  });
  Tape tape(GradMode::record);
  tape.backward(product(tape, {tape.leaf(a), tape.leaf(a)}));
  CHECK(fired == 1);
}

TEST_CASE_METHOD(Fixture, "tape: a use that the loss does not depend on is not waited for") {
  Parameter a = parameter("a", {3}), unused = parameter("unused", {1});
  int fired = 0, fired_unused = 0;
  a.hooks.push_back([&](Parameter&) { ++fired; });
  unused.hooks.push_back([&](Parameter&) { ++fired_unused; });
  Tape tape(GradMode::record);
  const Value x = tape.leaf(a), u = tape.leaf(unused);
  const Value loss = product(tape, {x, x});
  product(tape, {x, u});  // recorded, and no part of the loss
  tape.backward(loss);
  CHECK(fired == 1);
  CHECK(a.grad.item() == 6);
  CHECK(fired_unused == 0);
  CHECK_FALSE(unused.grad.defined());
}

TEST_CASE_METHOD(Fixture, "tape: hooks fire last layer first, a bias before its weight") {
  Parameter w0 = matrix("w0", {1, 2, 3, 4}, {2, 2}), b0 = parameter("b0", {1, 1});
  Parameter w1 = matrix("w1", {1, 1, -1, 1}, {2, 2}), b1 = parameter("b1", {0, 0});
  std::vector<std::string> order;
  for (Parameter* p : {&w0, &b0, &w1, &b1}) {
    p->hooks.push_back([&](Parameter& final) { order.push_back(final.name); });
    p->hooks.push_back([&](Parameter& final) { order.push_back(final.name + "'"); });
  }
  Tape tape(GradMode::record);
  Value x = tape.constant(from_values(std::vector<double>{1, 1}, {1, 2}, DType::float64, device));
  x = autograd::relu(tape, autograd::linear(tape, x, tape.leaf(w0), tape.leaf(b0)));
  x = autograd::linear(tape, x, tape.leaf(w1), tape.leaf(b1));
  const Tensor label = from_values(std::vector<double>{0}, {1}, DType::int64, device);
  tape.backward(autograd::cross_entropy(tape, x, label));
  CHECK(order == std::vector<std::string>{"b1", "b1'", "w1", "w1'", "b0", "b0'", "w0", "w0'"});
}

TEST_CASE_METHOD(Fixture, "tape: backward passes add up in grad") {
  Parameter a = parameter("a", {3});
  for (int pass = 1; pass <= 3; ++pass) {
    Tape tape(GradMode::record);
    const Value x = tape.leaf(a);
    tape.backward(product(tape, {x, x}));
    CHECK(a.grad.item() == 6 * pass);
  }
  CHECK(device.bytes_now(MemoryKind::gradients) == 8);
}

TEST_CASE_METHOD(Fixture,
                 "tape: a walk that starts from 8 brings 8 times the gradients, of the same loss") {
  Parameter a = parameter("a", {3}), b = parameter("b", {5});
  Tape tape(GradMode::record);
  tape.start_from(8);
  const Value loss = product(tape, {tape.leaf(a), tape.leaf(b)});
  tape.backward(loss);
  CHECK(loss.tensor.item() == 15);
  CHECK(a.grad.item() == 40);
  CHECK(b.grad.item() == 24);
}

TEST_CASE_METHOD(Fixture, "tape: a gradient shared by two nodes is not changed under the other") {
  Parameter a = parameter("a", {3}), b = parameter("b", {4});
  Tape tape(GradMode::record);
  const Value x = tape.leaf(a), y = tape.leaf(b);
  // add hands one tensor to both inputs; x sums two of them, y must still see one.
  tape.backward(autograd::add(tape, autograd::add(tape, x, y), x));
  CHECK(a.grad.item() == 2);
  CHECK(b.grad.item() == 1);
  a.grad.fill_(9);
  CHECK(b.grad.item() == 1);
}

TEST_CASE_METHOD(Fixture, "tape: a chain of 100,000 operations is walked without recursion") {
  Parameter a = parameter("a", {1});
  Tape tape(GradMode::record);
  const Value x = tape.leaf(a);
  Value sum = x;
  for (int i = 1; i < 100'000; ++i) sum = autograd::add(tape, sum, x);
  tape.backward(sum);
  CHECK(a.grad.item() == 100'000);
}

TEST_CASE_METHOD(Fixture, "tape: inference records nothing and refuses backward") {
  Parameter a = parameter("a", {3});
  Tape tape(GradMode::inference);
  const Value x = tape.leaf(a);
  const Value y = product(tape, {x, x});
  CHECK(y.node == -1);
  CHECK(y.tensor.item() == 9);
  CHECK_THROWS_WITH(tape.backward(y), contains("made for inference"));
}

TEST_CASE_METHOD(Fixture, "tape: misuse is named: spent, no parameter, no single number") {
  Parameter a = parameter("a", {3}), pair = parameter("pair", {1, 2});
  Tape tape(GradMode::record);
  const Value constant = tape.constant(full({1}, 2, DType::float64, device));
  CHECK_THROWS_WITH(tape.backward(product(tape, {constant, constant})),
                    contains("depends on no parameter"));
  const Value two = tape.leaf(pair);
  CHECK_THROWS_WITH(tape.backward(autograd::add(tape, two, two)), contains("one number"));
  const Value loss = product(tape, {tape.leaf(a), constant});
  CHECK_NOTHROW(tape.backward(loss));
  CHECK_THROWS_WITH(tape.backward(loss), contains("already spent"));
}

TEST_CASE_METHOD(Fixture, "tape: an exception in a hook leaves backward as it is") {
  Parameter a = parameter("a", {3});
  a.hooks.push_back([](Parameter&) { throw std::runtime_error("peer lost"); });
  Tape tape(GradMode::record);
  CHECK_THROWS_WITH(tape.backward(autograd::add(tape, tape.leaf(a), tape.leaf(a))),
                    contains("peer lost"));
}

TEST_CASE_METHOD(Fixture, "tape: activations are released while backward walks") {
  Parameter a = matrix("a", std::vector<double>(100, 0.1), {10, 10});
  Parameter zero = parameter("zero", std::vector<double>(10, 0));
  auto peak_of = [&](int layers) {
    CpuDevice fresh;
    Tape tape(GradMode::record);
    Parameter w{"w", full({10, 10}, 0.1, DType::float64, fresh), {}, {}};
    Parameter b{"b", full({10}, 0, DType::float64, fresh), {}, {}};
    Value x = tape.constant(full({8, 10}, 1, DType::float64, fresh));
    for (int i = 0; i < layers; ++i) x = autograd::linear(tape, x, tape.leaf(w), tape.leaf(b));
    const Tensor labels = full({8}, 0, DType::int64, fresh);
    const Value loss = autograd::cross_entropy(tape, x, labels);
    x = {};
    const auto forward = fresh.bytes_now(MemoryKind::activations);
    tape.backward(loss);
    CHECK(fresh.bytes_now(MemoryKind::activations) < forward / 4);
    return fresh.bytes_peak(MemoryKind::activations) - forward;
  };
  // What backward adds to the forward pass's memory does not grow with depth.
  CHECK(peak_of(40) <= peak_of(20));
}

TEST_CASE_METHOD(Fixture, "tape: an input's gradient is kept for whoever made the input") {
  Parameter a = parameter("a", {3});
  Tape tape(GradMode::record);
  const Value x = tape.input(parameter("x", {5}).value), unused = tape.input(x.tensor);
  const Value y = product(tape, {x, tape.leaf(a), x});
  tape.backward(y, from_values(std::vector<double>{2}, {1}, DType::float64, device));
  CHECK(tape.gradient_of(x).item() == 2 * 2 * 5 * 3);
  CHECK(a.grad.item() == 2 * 25);
  CHECK_FALSE(tape.gradient_of(unused).defined());
  CHECK_THROWS_WITH(tape.gradient_of(y), contains("is no input()"));
}

TEST_CASE_METHOD(Fixture, "tape: a gradient from outside must have the output's shape") {
  Parameter a = parameter("a", {3, 4});
  Tape tape(GradMode::record);
  const Value y = product(tape, {tape.leaf(a), tape.leaf(a)});
  CHECK_THROWS_WITH(tape.backward(y, zeros({3}, DType::float64, device)), contains("float64 [3]"));
}

TEST_CASE_METHOD(Fixture, "tape: gradients are adopted, not copied, and shared ones are not") {
  Parameter a = parameter("a", {3}), b = parameter("b", {5});
  Tape tape(GradMode::record);
  tape.backward(autograd::add(tape, tape.leaf(a), tape.leaf(b)));  // both get the loss's gradient
  a.grad.fill_(7);
  CHECK(b.grad.item() == 1);
  CHECK(device.bytes_now(MemoryKind::gradients) == 2 * 8);
  CHECK(device.bytes_now(MemoryKind::activations) == 0);
}

TEST_CASE_METHOD(Fixture, "recompute: the same gradients and hooks, and less is kept") {
  const auto run = [&](int depth, bool again, std::vector<std::string>& fired) {
    std::vector<Parameter> layers;
    for (int i = 0; i < depth; ++i) layers.push_back(parameter(i % 2 == 0 ? "even" : "odd", {2}));
    for (Parameter& p : layers) {
      p.hooks.push_back([&](Parameter& done) { fired.push_back(done.name); });
    }
    Tape tape(GradMode::record);
    Value x = tape.constant(full({1}, 1.5, DType::float64, device));
    const auto body = [&](Tape& on, const Value& in) {
      Value y = in;
      for (Parameter& p : layers) y = autograd::multiply(on, y, on.leaf(p));
      return y;
    };
    x = again ? autograd::recompute(tape, x, body) : body(tape, x);
    const std::int64_t kept = device.bytes_now(MemoryKind::activations);
    tape.backward(x);
    for (const Parameter& p : layers) CHECK(p.grad.item() == 1.5 * std::pow(2.0, depth - 1));
    return kept;
  };
  std::vector<std::string> plain, recomputed;
  const std::int64_t kept = run(6, false, plain);
  CHECK(run(6, true, recomputed) < kept);
  CHECK(plain == recomputed);
}

TEST_CASE_METHOD(Fixture, "tape: backward from a leaf itself, and recompute of one, give it all") {
  Parameter a = parameter("a", {3, 4});
  Tape tape(GradMode::record);
  tape.backward(tape.leaf(a), full({2}, 5, DType::float64, device));
  CHECK(a.grad.item(1) == 5);

  Parameter b = parameter("b", {3});
  Tape outer(GradMode::record);
  const Value x = outer.constant(full({1}, 1, DType::float64, device));
  outer.backward(autograd::recompute(outer, x, [&](Tape& on, const Value&) { return on.leaf(b); }));
  CHECK(b.grad.item() == 1);
}

TEST_CASE_METHOD(Fixture, "tape: a value of another tape is refused") {
  Parameter a = parameter("a", {3});
  Tape first(GradMode::record), second(GradMode::record);
  const Value old = first.leaf(a), x = second.leaf(a);
  CHECK_THROWS_WITH(autograd::multiply(second, old, x), contains("on another tape"));
}

TEST_CASE_METHOD(Fixture,
                 "tape: recipes are one deep, so that a long chain costs what it is long") {
  Parameter a = parameter("a", {0.1});
  Tape tape(GradMode::record);
  Value x = tape.leaf(a);
  for (int i = 0; i < 20'000; ++i) x = autograd::activate(tape, x, ops::Activation::tanh);
  const double before = device.flops();
  tape.backward(x);
  CHECK(device.flops() - before < 20'000 * 20);
  CHECK(a.grad.defined());
}

TEST_CASE_METHOD(Fixture, "sum: of one element it is a number of its own") {
  Parameter a = parameter("a", {3});
  Tape tape(GradMode::record);
  const Value loss = autograd::sum(tape, tape.leaf(a));
  a.value.fill_(9);
  CHECK(loss.tensor.item() == 3);
}

TEST_CASE_METHOD(Fixture, "tape: a product is made in the weight's place, where that has one") {
  Parameter w = matrix("w", {1, 2, 3, 4, 5, 6}, {2, 3});
  w.grad_place = full({2, 3}, -7, DType::float64, device);
  const Tensor x = from_values(std::vector<double>{1, 10, 100}, {1, 3}, DType::float64, device);
  const auto backward = [&](int uses) {
    Tape tape(GradMode::record);
    const Value leaf = tape.leaf(w);
    Value y = autograd::linear(tape, tape.constant(x), leaf);
    for (int use = 1; use < uses; ++use) {
      const Value other = autograd::scale(tape, tape.constant(x), use + 1);
      y = autograd::add(tape, y, autograd::linear(tape, other, leaf));
    }
    const Value loss = autograd::sum(tape, y);
    tape.backward(loss);
  };
  const auto has = [&](double times) {
    return w.grad.same_place(w.grad_place) && w.grad.item(0) == times &&
           w.grad.item(2) == 100 * times && w.grad.item(3) == times;
  };
  backward(1);
  CHECK(has(1));
  backward(1);  // adds to the grad that is there
  CHECK(has(2));
  w.grad = {};
  backward(3);  // neither use may overwrite what the others brought
  CHECK(has(1 + 2 + 3));
  w.grad = {};
  const auto memory = [&] {
    device.reset_peak();
    const std::int64_t before = device.bytes_peak();
    backward(1);
    return device.bytes_peak() - before;
  };
  const std::int64_t in_place = memory();
  w.grad = w.grad_place = {};
  CHECK(memory() > in_place);  // a product of its own
}

TEST_CASE_METHOD(Fixture, "tape: a mark is reached between what stands after it and before it") {
  Parameter a = parameter("a", {2}), b = parameter("b", {3});
  std::vector<std::string> seen;
  for (Parameter* p : {&a, &b}) {
    p->hooks.emplace_back([&seen](const Parameter& of) { seen.push_back(of.name); });
  }
  const auto mark = [&seen](Tape& tape, const char* name) {
    tape.mark([&seen, name] { seen.emplace_back(name); });
  };
  Tape tape(GradMode::record);
  mark(tape, "first");
  Value x = autograd::scale(tape, tape.leaf(a), 2);
  mark(tape, "between");
  x = autograd::multiply(tape, x, tape.leaf(b));
  mark(tape, "last");
  SECTION("in one walk") { tape.backward(x); }
  SECTION("in the first of two halves") {
    tape.backward_inputs(x, full({1}, 1, DType::float64, device));
    tape.backward_weights();
  }
  CHECK(seen == std::vector<std::string>{"last", "b", "between", "a", "first"});

  Tape inference(GradMode::inference);
  mark(inference, "never");
  CHECK(seen.size() == 5);
}

TEST_CASE_METHOD(Fixture, "tape: a weight that was freed after its use is free until backward") {
  Parameter w = matrix("w", {1, 2, 3, 4}, {2, 2}), b = parameter("b", {5, 6});
  Parameter gain = parameter("gain", {1, 2}), shift = parameter("shift", {0, 1});
  const std::vector<Parameter*> all = {&w, &b, &gain, &shift};
  for (const Parameter* p : all) p->value.relabel(MemoryKind::parameters);
  const auto x = from_values(std::vector<double>{1, -1, 2, 7}, {2, 2}, DType::float64, device);
  const auto segment = [&](Tape& on, const Value& in) {
    const Value normed = autograd::layer_norm(on, in, on.leaf(gain), on.leaf(shift));
    const Value leaf = on.leaf(w);
    return autograd::linear(on, normed, leaf, on.leaf(b));
  };
  const auto gradients = [&](bool frees, bool recomputes) {
    Tape tape(GradMode::record);
    const Value input = tape.input(x);
    Value y = recomputes ? autograd::recompute(tape, input, segment) : segment(tape, input);
    y = autograd::sum(tape, autograd::multiply(tape, y, y));
    std::vector<Tensor> copies;
    if (frees) {
      for (Parameter* p : all) copies.push_back(p->value.clone());
      for (Parameter* p : all) p->value = {};
      CHECK(device.bytes_now(MemoryKind::parameters) == 0);
      for (std::size_t i = 0; i < all.size(); ++i) all[i]->value = copies[i];
    }
    tape.backward(y);
    std::vector<double> found = {tape.gradient_of(input).item(3)};
    for (Parameter* p : all) {
      for (std::int64_t i = 0; i < p->grad.numel(); ++i) found.push_back(p->grad.item(i));
      p->grad = {};
    }
    return found;
  };
  for (const bool recomputes : {false, true}) {
    CAPTURE(recomputes);
    const auto expected = gradients(false, recomputes);
    for (Parameter* p : all) p->value.relabel(MemoryKind::parameters);
    CHECK(gradients(true, recomputes) == expected);
  }
}
