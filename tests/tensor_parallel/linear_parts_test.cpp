// f, g and the two linear layers beside the layers of one device.
#include "engine/autograd/operations.hpp"
#include "engine/parallel/tensor/column_parallel_linear.hpp"
#include "engine/parallel/tensor/conjugate_operators.hpp"
#include "engine/parallel/tensor/row_parallel_linear.hpp"
#include "tests/tensor_parallel/ranks.hpp"

using namespace lockstep;
using namespace lockstep::test;
using namespace lockstep::tensor_parallel;

namespace {

constexpr std::int64_t inputs = 24, outputs = 48;

// A layer of one device and what its backward pass leaves, given the gradient of y.
struct Whole {
  Tensor y, dx;
  Parameter weight, bias;
};
Whole on_one_device(const Tensor& x, const Tensor& weight, const Tensor& bias, const Tensor& grad) {
  Whole whole{{}, {}, parameter(weight), parameter(bias)};
  Tape tape(GradMode::record);
  const Value in = tape.input(x);
  const Value w = tape.leaf(whole.weight);
  const Value y = autograd::linear(tape, in, w, tape.leaf(whole.bias));
  tape.backward(y, grad);
  whole.y = y.tensor;
  whole.dx = tape.gradient_of(in);
  return whole;
}

}  // namespace

TEST_CASE("enter_parallel and leave_parallel: one all-reduce each, one backward and one forward") {
  for (const int ranks : group_sizes) {
    on_recorded_ranks(ranks, [&](RecordedGroup& group, Device& device) {
      const Tensor x = drawn({2, 3}, 1, device), before = x.clone();
      const double times = group.rank() + 1;
      const double all = ranks * (ranks + 1) / 2;
      Tape tape(GradMode::record);
      const Value in = tape.input(x);
      const Value entered = enter_parallel(tape, group, in);
      CHECK(group.taken() == Calls{});
      CHECK(entered.tensor.same_place(x));
      const Value term = autograd::scale(tape, entered, times);
      const Value y = leave_parallel(tape, group, term);
      CHECK(group.taken() == Calls{"all_reduce (sum) of 6 float64"});
      CHECK(difference(y.tensor, ops::scale(x, all)) <= near);
      CHECK(difference(term.tensor, ops::scale(x, times)) == 0);  // was not changed
      const Tensor grad = drawn({2, 3}, 2, device), grad_before = grad.clone();
      tape.backward(y, grad);
      CHECK(group.taken() == Calls{"all_reduce (sum) of 6 float64"});
      CHECK(difference(tape.gradient_of(in), ops::scale(grad, all)) <= near);
      CHECK(difference(grad, grad_before) == 0);
      CHECK(difference(x, before) == 0);
    });
  }
}

TEST_CASE("enter_parallel: a gradient that another operation holds too is not changed") {
  on_recorded_ranks(2, [](RecordedGroup& group, Device& device) {
    Tape tape(GradMode::record);
    const Value a = tape.input(drawn({4}, 1, device)), b = tape.input(drawn({4}, 2, device));
    // Both inputs of the sum are given the same gradient.
    const Value y = autograd::add(tape, enter_parallel(tape, group, a), b);
    tape.backward(y, full({4}, 1, DType::float64, device));
    CHECK(tape.gradient_of(a).item() == 2);
    CHECK(tape.gradient_of(b).item() == 1);
  });
}

TEST_CASE("column_parallel_linear: a rank's columns of the layer, and the whole gradient of x") {
  for (const int ranks : group_sizes) {
    for (const ColumnOutput output : {ColumnOutput::share, ColumnOutput::whole}) {
      CAPTURE(ranks, static_cast<int>(output));
      on_recorded_ranks(ranks, [&](RecordedGroup& group, Device& device) {
        const int rank = group.rank();
        const Tensor x = drawn({2, 5, inputs}, 1, device);
        const Tensor weight = drawn({outputs, inputs}, 2, device),
                     bias = drawn({outputs}, 3, device);
        const Tensor grad = drawn({2, 5, outputs}, 4, device);
        const Whole whole = on_one_device(x, weight, bias, grad);

        Parameter w = parameter(rows_of_rank(weight, rank, ranks));
        Parameter b = parameter(rows_of_rank(bias, rank, ranks));
        Tape tape(GradMode::record);
        const Value in = tape.input(x), of_weight = tape.leaf(w), of_bias = tape.leaf(b);
        const Value y = column_parallel_linear(tape, group, in, of_weight, of_bias, output);
        const bool all = output == ColumnOutput::whole;
        CHECK(group.taken() ==
              (all ? Calls{text("all_gather of ", 10 * outputs / ranks, " float64 a rank")}
                   : Calls{}));
        CHECK(difference(y.tensor, all ? whole.y : columns_of_rank(whole.y, rank, ranks, 2)) <=
              near);
        tape.backward(y, all ? grad : columns_of_rank(grad, rank, ranks, 2));
        CHECK(group.taken() == Calls{text("all_reduce (sum) of ", 10 * inputs, " float64")});
        CHECK(difference(tape.gradient_of(in), whole.dx) <= near);
        CHECK(difference(w.grad, rows_of_rank(whole.weight.grad, rank, ranks)) <= near);
        CHECK(difference(b.grad, rows_of_rank(whole.bias.grad, rank, ranks)) <= near);
      });
    }
  }
}

TEST_CASE(
    "column_parallel_linear: in two halves, the sum of dx is in the first, dW in the second") {
  on_recorded_ranks(2, [](RecordedGroup& group, Device& device) {
    Parameter w = parameter(drawn({3, 4}, 1, device));
    Tape tape(GradMode::record);
    const Value in = tape.input(drawn({5, 4}, 2, device));
    const Value y = column_parallel_linear(tape, group, in, tape.leaf(w), {}, ColumnOutput::share);
    tape.backward_inputs(y, drawn({5, 3}, 3, device));
    CHECK(group.taken() == Calls{"all_reduce (sum) of 20 float64"});
    CHECK(tape.gradient_of(in).defined());
    CHECK_FALSE(w.grad.defined());
    tape.backward_weights();
    CHECK(w.grad.defined());
    CHECK(group.taken() == Calls{});
  });
}

TEST_CASE("column_parallel_linear: nothing is sent where nothing wants the gradient of x") {
  on_recorded_ranks(2, [](RecordedGroup& group, Device& device) {
    Parameter w = parameter(drawn({3, 4}, 1, device));
    Tape tape(GradMode::record);
    const Value x = tape.constant(drawn({5, 4}, 2, device));
    const Value y = column_parallel_linear(tape, group, x, tape.leaf(w), {}, ColumnOutput::share);
    tape.backward(y, drawn({5, 3}, 3, device));
    CHECK(w.grad.defined());
    Tape inference(GradMode::inference);
    const Value of_all = column_parallel_linear(inference, group, inference.constant(x.tensor),
                                                inference.leaf(w), {}, ColumnOutput::share);
    CHECK(difference(of_all.tensor, y.tensor) == 0);
    CHECK(group.taken() == Calls{});
  });
}

TEST_CASE("row_parallel_linear: one all-reduce forward, none backward, the bias once") {
  for (const int ranks : group_sizes) {
    for (const bool biased : {true, false}) {
      CAPTURE(ranks, biased);
      on_recorded_ranks(ranks, [&](RecordedGroup& group, Device& device) {
        const int rank = group.rank();
        const Tensor x = drawn({2, 5, outputs}, 1, device);
        const Tensor weight = drawn({inputs, outputs}, 2, device);
        const Tensor bias =
            biased ? drawn({inputs}, 3, device) : zeros({inputs}, DType::float64, device);
        const Tensor grad = drawn({2, 5, inputs}, 4, device);
        const Whole whole = on_one_device(x, weight, bias, grad);

        Parameter w = parameter(columns_of_rank(weight, rank, ranks));
        Parameter b = parameter(bias.clone());
        Tape tape(GradMode::record);
        const Value in = tape.input(columns_of_rank(x, rank, ranks, 2)), of_weight = tape.leaf(w);
        const auto of_bias = biased ? std::optional(tape.leaf(b)) : std::nullopt;
        const Value y = row_parallel_linear(tape, group, in, of_weight, of_bias);
        CHECK(group.taken() == Calls{text("all_reduce (sum) of ", 10 * inputs, " float64")});
        CHECK(difference(y.tensor, whole.y) <= near);
        tape.backward(y, grad);
        CHECK(group.taken() == Calls{});
        CHECK(difference(tape.gradient_of(in), columns_of_rank(whole.dx, rank, ranks, 2)) <= near);
        CHECK(difference(w.grad, columns_of_rank(whole.weight.grad, rank, ranks)) <= near);
        if (biased) CHECK(difference(b.grad, whole.bias.grad) <= near);
      });
    }
  }
}

TEST_CASE("parallel linear layers: shapes that do not fit are named before anything is sent") {
  on_recorded_ranks(2, [](RecordedGroup& group, Device& device) {
    Tape tape(GradMode::record);
    const auto value = [&](Shape shape) { return tape.constant(drawn(shape, 1, device)); };
    CHECK_THROWS_WITH(
        column_parallel_linear(tape, group, value({5, 4}), value({3, 6}), {}, ColumnOutput::whole),
        contains("the inner sizes must be equal"));
    CHECK_THROWS_WITH(column_parallel_linear(tape, group, value({5, 4}), value({3, 4}), value({6}),
                                             ColumnOutput::whole),
                      contains("the row is float64 [6], expected float64 [3]"));
    CHECK_THROWS_WITH(row_parallel_linear(tape, group, value({5, 4}), value({3, 8}), {}),
                      contains("the inner sizes must be equal"));
    CHECK_THROWS_WITH(row_parallel_linear(tape, group, value({5, 4}), value({3, 4}), value({2})),
                      contains("bias"));
    CHECK(group.taken() == Calls{});
  });
}
