// Backward passes in two halves: first what goes on to the inputs, then what ends in weights.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "engine/autograd/activation_checkpoint.hpp"
#include "engine/autograd/operations.hpp"
#include "engine/tensor/symbolic.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using lockstep::test::contains;

namespace {

// Two linear layers with a norm between them, the first used twice, and what they leave behind.
struct TwoLayers {
  CpuDevice device;
  Parameter first = parameter("first", {1, 2, -1, 0.5}, {2, 2}),
            bias = parameter("bias", {0.5, -1}, {2});
  Parameter scale = parameter("scale", {1, 3}, {2}), shift = parameter("shift", {0, 1}, {2});
  Parameter last = parameter("last", {2, -1, 1, 4, 0, 3}, {3, 2});
  std::vector<std::string> fired;
  Tensor of_input;

  Parameter parameter(const char* name, std::vector<double> values, Shape shape) {
    return {name, from_values(values, std::move(shape), DType::float64, device), {}, {}};
  }

  enum class Halves { no, yes };
  enum class Kept { all, input };
  // What every parameter gets; `between` is called between the halves.
  template <typename Between>
  std::vector<Tensor> run(Halves halves, Kept kept, const Between& between) {
    const std::vector<Parameter*> all{&first, &bias, &scale, &shift, &last};
    fired.clear();
    for (Parameter* p : all) {
      p->grad = {};
      p->hooks.assign(1, [this](Parameter& done) { fired.push_back(done.name); });
    }
    Tape tape(GradMode::record);
    const Value x = tape.input(from_values(std::vector<double>{1, 2, 3, -4}, {2, 2}, DType::float64,
                                           device, MemoryKind::activations));
    const auto body = [&](Tape& on, const Value& in) {
      const Value w = on.leaf(first);
      Value y = autograd::linear(on, in, w, on.leaf(bias));
      y = autograd::layer_norm(on, y, on.leaf(scale), on.leaf(shift));
      y = autograd::linear(on, autograd::activate(on, y, ops::Activation::gelu), w);
      return autograd::linear(on, y, on.leaf(last));
    };
    const Value y = kept == Kept::all ? body(tape, x) : autograd::recompute(tape, x, body);
    const Tensor grad = from_values(std::vector<double>{1, -2, 3, 0.5, 2, -1}, {2, 3},
                                    DType::float64, device, MemoryKind::activations);
    if (halves == Halves::no) {
      tape.backward(y, grad);
    } else {
      tape.backward_inputs(y, grad);
      of_input = tape.gradient_of(x);
      between();
      tape.backward_weights();
    }
    of_input = tape.gradient_of(x);
    std::vector<Tensor> grads;
    for (const Parameter* p : all) grads.push_back(p->grad);
    return grads;
  }

  // The loss `body(tape, x)` gives the same gradients in one walk and in two halves, of which the
  // first has the one of x; on the tape, and where only the input of the body is kept.
  template <typename Body>
  void check_halves(const Body& body) {
    const std::vector<Parameter*> all{&first, &bias, &scale, &shift, &last};
    const Tensor one = full({1}, 1, DType::float64, device, MemoryKind::activations);
    for (const Kept kept : {Kept::all, Kept::input}) {
      std::vector<Tensor> whole, halved;
      for (const Halves halves : {Halves::no, Halves::yes}) {
        std::vector<Tensor>& grads = halves == Halves::no ? whole : halved;
        for (Parameter* p : all) p->grad = {};
        Tape tape(GradMode::record);
        const Value x = tape.input(from_values(std::vector<double>{1, 2, 3, -4}, {2, 2},
                                               DType::float64, device, MemoryKind::activations));
        const Value loss = kept == Kept::all ? body(tape, x) : autograd::recompute(tape, x, body);
        if (halves == Halves::no) {
          tape.backward(loss, one);
          grads.push_back(tape.gradient_of(x));
        } else {
          tape.backward_inputs(loss, one);
          grads.push_back(tape.gradient_of(x).clone(MemoryKind::activations));
          tape.backward_weights();
        }
        for (const Parameter* p : all) grads.push_back(p->grad);
      }
      for (std::size_t k = 0; k < whole.size(); ++k) {
        INFO((k == 0 ? std::string("the input") : all[k - 1]->name)
             << (kept == Kept::all ? "" : ", in a segment that runs again"));
        REQUIRE(halved[k].defined() == whole[k].defined());
        for (std::int64_t i = 0; i < whole[k].numel(); ++i) {
          INFO("element " << i);
          CHECK(std::abs(halved[k].item(i) - whole[k].item(i)) <= 1e-12);
        }
      }
    }
  }
};

}  // namespace

TEST_CASE_METHOD(TwoLayers, "tape: the halves of a backward pass make together what it makes") {
  for (const Kept kept : {Kept::all, Kept::input}) {
    const auto whole = run(Halves::no, kept, [] {});
    const Tensor input_whole = of_input;
    auto hooks_whole = fired;
    bool came = false;
    const auto halved = run(Halves::yes, kept, [&] {
      came = true;
      // The gradient of the input is there, those of the matrices are not.
      for (std::int64_t i = 0; i < 4; ++i) CHECK(of_input.item(i) == input_whole.item(i));
      CHECK_FALSE(first.grad.defined());
      CHECK_FALSE(last.grad.defined());
      // A norm's parameters come out of the same kernel as its input's gradient. Inside a
      // recomputation they have arrived, too.
      CHECK(scale.grad.defined());
    });
    REQUIRE(came);
    for (std::size_t k = 0; k < whole.size(); ++k) {
      for (std::int64_t i = 0; i < whole[k].numel(); ++i) {
        INFO("parameter " << k << ", element " << i);
        CHECK(std::abs(halved[k].item(i) - whole[k].item(i)) <= 1e-14);
        CHECK(whole[k].item(i) != 0);
      }
    }
    std::ranges::sort(hooks_whole);
    std::ranges::sort(fired);
    CHECK(fired == hooks_whole);
    CHECK(fired.size() == 5);
  }
}

TEST_CASE_METHOD(TwoLayers, "tape: what stands between a parameter and its layer, in two halves") {
  const auto made_from = [&](const std::string& way, Tape& on, const Value& w) {
    if (way == "nothing") return w;
    if (way == "narrow") return autograd::narrow(on, on.leaf(last), 0, 1, 2);
    if (way == "view") return autograd::view(on, w, {2, 2});
    if (way == "transpose") return autograd::transpose(on, w, 0, 1);
    if (way == "concatenate") {
      const Value whole[] = {w, on.leaf(last)};
      return autograd::concatenate(on, whole, 0);
    }
    if (way == "add") return autograd::add(on, w, on.leaf(bias));
    if (way == "subtract") return autograd::subtract(on, w, on.leaf(bias));
    if (way == "multiply") return autograd::multiply(on, w, on.leaf(bias));
    if (way == "scale") return autograd::scale(on, w, 0.5);
    if (way == "matmul") return autograd::matmul(on, w, w);
    if (way == "linear") return autograd::linear(on, w, w);
    if (way == "activate") return autograd::activate(on, w, ops::Activation::gelu);
    if (way == "relu") return autograd::relu(on, w);
    if (way == "softmax") return autograd::softmax(on, w);
    if (way == "layer_norm") return autograd::layer_norm(on, w, on.leaf(scale), on.leaf(shift));
    if (way == "rms_norm") return autograd::rms_norm(on, w, on.leaf(scale));
    if (way == "dropout") return autograd::dropout(on, w, {.rate = 0.5, .seed = 3});
    if (way == "recompute") {
      return autograd::recompute(on, w, [&](Tape& inner, const Value& in) {
        return autograd::linear(inner, inner.leaf(last), in);
      });
    }
    REQUIRE(way == "embedding");
    const Tensor rows = empty({2}, DType::int64, device);
    rows.data<std::int64_t>()[0] = 2;
    rows.data<std::int64_t>()[1] = 0;
    return autograd::embedding(on, on.leaf(last), rows);
  };
  for (const std::string way :
       {"nothing", "narrow", "view", "transpose", "concatenate", "add", "subtract", "multiply",
        "scale", "matmul", "linear", "activate", "relu", "softmax", "layer_norm", "rms_norm",
        "dropout", "recompute", "embedding"}) {
    INFO("between the parameter and its layer: " << way);
    // The parameter is the layer's weight itself, too, once before and once after.
    const auto body = [&](Tape& on, const Value& x) {
      const Value w = on.leaf(first), made = made_from(way, on, w);
      const Value y = autograd::linear(on, autograd::linear(on, x, w), made);
      return autograd::add(on, autograd::sum(on, y), autograd::sum(on, autograd::linear(on, x, w)));
    };
    check_halves(body);
  }
}

TEST_CASE_METHOD(TwoLayers, "tape: the gradient of an input that is a weight is there after I") {
  check_halves([&](Tape& on, const Value& x) {
    const Value y = autograd::linear(on, autograd::linear(on, x, on.leaf(first)), x);
    return autograd::sum(on, autograd::multiply(on, y, y));
  });
}

TEST_CASE_METHOD(TwoLayers, "tape: the second half frees what it kept, and comes once") {
  const std::int64_t before = device.bytes_now(MemoryKind::activations);
  std::int64_t between = 0;
  run(Halves::yes, Kept::all, [&] { between = device.bytes_now(MemoryKind::activations); });
  of_input = {};
  CHECK(between > before);
  CHECK(device.bytes_now(MemoryKind::activations) == before);

  Tape tape(GradMode::record);
  const Value y = autograd::sum(tape, tape.leaf(last));
  CHECK_THROWS_WITH(tape.backward_weights(), contains("call backward_inputs before"));
  tape.backward_inputs(y, full({1}, 1, DType::float64, device));
  tape.backward_weights();
  CHECK_THROWS_WITH(tape.backward_weights(), contains("call backward_inputs before"));
}

TEST_CASE_METHOD(TwoLayers, "tape: whoever watches a walk is told once, around both halves") {
  std::vector<std::string> told;
  Tape tape(GradMode::record);
  tape.watch({[&](std::span<Parameter* const> reached) {
                told.push_back("begins with " + std::to_string(reached.size()));
              },
              [&] { told.emplace_back("ended"); }});
  const Value x = tape.input(full({1, 2}, 1, DType::float64, device));
  const Value y = autograd::sum(tape, autograd::linear(tape, x, tape.leaf(first)));
  tape.backward_inputs(y, full({1}, 1, DType::float64, device));
  CHECK(told == std::vector<std::string>{"begins with 1"});
  tape.backward_weights();
  CHECK(told == std::vector<std::string>{"begins with 1", "ended"});
}

TEST_CASE("tape: I and W of a linear layer cost a forward product each, and attention is all I") {
  SymbolicDevice sizes_only;
  struct Spent {
    double forward, inputs, weights;
  };
  const auto spent_by = [&](Shape shape, const auto& operation) {
    Tape tape(GradMode::record);
    const Value x =
        tape.input(empty(std::move(shape), DType::float32, sizes_only, MemoryKind::activations));
    const double start = sizes_only.flops();
    const Value y = operation(tape, x);
    const double after_forward = sizes_only.flops();
    tape.backward_inputs(y, empty(y.tensor.shape(), DType::float32, sizes_only));
    const double after_inputs = sizes_only.flops();
    tape.backward_weights();
    return Spent{after_forward - start, after_inputs - after_forward,
                 sizes_only.flops() - after_inputs};
  };

  constexpr std::int64_t rows = 5, inputs = 7, outputs = 3;
  Parameter weight{"weight", empty({outputs, inputs}, DType::float32, sizes_only), {}, {}};
  const Spent linear = spent_by({rows, inputs}, [&](Tape& tape, const Value& x) {
    return autograd::linear(tape, x, tape.leaf(weight));
  });
  CHECK(linear.forward == 2 * rows * inputs * outputs);
  CHECK(linear.inputs == linear.forward);
  CHECK(linear.weights == linear.forward);

  constexpr std::int64_t samples = 2, tokens = 6, width = 8, heads = 2;
  const Spent attention = spent_by({samples, tokens, 3 * width}, [&](Tape& tape, const Value& qkv) {
    return autograd::causal_attention(tape, qkv, heads);
  });
  CHECK(attention.inputs > attention.forward);
  CHECK(attention.weights == 0);
}
