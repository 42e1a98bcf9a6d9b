// Slices of a sequence between the layers: each operator beside what it is made of, and the
// gradients of what every rank has whole.
#include "engine/autograd/operations.hpp"
#include "engine/parallel/tensor/sequence_parallel_region.hpp"
#include "tests/tensor_parallel/ranks.hpp"

using namespace lockstep;
using namespace lockstep::test;
using namespace lockstep::tensor_parallel;

namespace {

constexpr std::int64_t length = 24, channels = 3;

double sum_to(int ranks) { return ranks * (ranks + 1) / 2; }

}  // namespace

TEST_CASE("gather_sequence: an all-gather forward, a reduce-scatter backward") {
  for (const int ranks : group_sizes) {
    for (const std::int64_t batch : {1, 2}) {
      CAPTURE(ranks, batch);
      on_recorded_ranks(ranks, [&](RecordedGroup& group, Device& device) {
        const int rank = group.rank();
        const std::int64_t own = batch * length * channels / ranks;
        const Tensor whole = drawn({batch, length, channels}, 1, device);
        const Tensor grad = drawn({batch, length, channels}, 2, device);
        Tape tape(GradMode::record);
        const Value in = tape.input(columns_of_rank(whole, rank, ranks));
        const Value y = gather_sequence(tape, group, in, Kept::whole);
        CHECK(group.taken() == Calls{text("all_gather of ", own, " float64 a rank")});
        CHECK(difference(y.tensor, whole) == 0);
        tape.backward(autograd::scale(tape, y, rank + 1), grad);
        CHECK(group.taken() == Calls{text("reduce_scatter (sum) of ", own, " float64 a rank")});
        CHECK(difference(tape.gradient_of(in),
                         ops::scale(columns_of_rank(grad, rank, ranks), sum_to(ranks))) <= near);
      });
    }
  }
}

TEST_CASE("scatter_sum_sequence: a reduce-scatter forward, an all-gather backward") {
  for (const int ranks : group_sizes) {
    for (const std::int64_t batch : {1, 2}) {
      CAPTURE(ranks, batch);
      on_recorded_ranks(ranks, [&](RecordedGroup& group, Device& device) {
        const int rank = group.rank();
        const std::int64_t own = batch * length * channels / ranks;
        const Tensor x = drawn({batch, length, channels}, 1, device);
        const Tensor grad = drawn({batch, length, channels}, 2, device);
        Tape tape(GradMode::record);
        const Value in = tape.input(ops::scale(x, rank + 1));
        const Value y = scatter_sum_sequence(tape, group, in);
        CHECK(group.taken() == Calls{text("reduce_scatter (sum) of ", own, " float64 a rank")});
        CHECK(difference(y.tensor, ops::scale(columns_of_rank(x, rank, ranks), sum_to(ranks))) <=
              near);
        tape.backward(y, columns_of_rank(grad, rank, ranks));
        CHECK(group.taken() == Calls{text("all_gather of ", own, " float64 a rank")});
        CHECK(difference(tape.gradient_of(in), grad) == 0);
      });
    }
  }
}

TEST_CASE("gather_sequence: with its slice kept, it gathers again for what reads it backward") {
  on_recorded_ranks(2, [](RecordedGroup& group, Device& device) {
    Tensor grads[2];
    for (const Kept kept : {Kept::whole, Kept::slice}) {
      Parameter w = parameter(drawn({4, channels}, 1, device));
      Tape tape(GradMode::record);
      const Value in =
          tape.input(columns_of_rank(drawn({2, length, channels}, 2, device), group.rank(), 2));
      const Value whole = gather_sequence(tape, group, in, kept);
      const Value y = autograd::linear(tape, whole, tape.leaf(w));
      group.taken();
      tape.backward(y, drawn({2, length, 4}, 3, device));
      const std::string again = text("all_gather of ", length * channels, " float64 a rank"),
                        sum =
                            text("reduce_scatter (sum) of ", length * channels, " float64 a rank");
      CHECK(group.taken() == (kept == Kept::slice ? Calls{again, sum} : Calls{sum}));
      grads[kept == Kept::slice ? 1 : 0] = w.grad;
    }
    CHECK(difference(grads[0], grads[1]) == 0);
  });
}

TEST_CASE(
    "gather_sequence: with its slice kept, the gathered tensor is gone after its last reader") {
  on_recorded_ranks(4, [](RecordedGroup& group, Device& device) {
    constexpr std::int64_t long_length = 400;
    std::int64_t held[2];
    for (const Kept kept : {Kept::whole, Kept::slice}) {
      Parameter w = parameter(drawn({1, channels}, 1, device));
      const std::int64_t before = device.bytes_now();
      Tape tape(GradMode::record);
      const Value y = autograd::linear(
          tape,
          gather_sequence(tape, group, tape.input(drawn({1, long_length / 4, channels}, 2, device)),
                          kept),
          tape.leaf(w));
      held[kept == Kept::slice ? 1 : 0] = device.bytes_now() - before;
    }
    CHECK(held[0] - held[1] == long_length * 3 / 4 * channels * 8);  // a fourth is kept
  });
}

TEST_CASE("sum_slice_gradients: one all-reduce for all parameters, also for one without a grad") {
  for (const int ranks : group_sizes) {
    on_recorded_ranks(ranks, [&](RecordedGroup& group, Device& device) {
      Parameter a = parameter(drawn({3}, 1, device)), b = parameter(drawn({2, 2}, 2, device));
      a.grad = full({3}, group.rank() + 1, DType::float64, device);
      if (group.rank() == 0) b.grad = full({2, 2}, 5, DType::float64, device);
      const std::vector<Parameter*> both{&a, &b};
      sum_slice_gradients(group, both);
      CHECK(group.taken() == Calls{"all_reduce (sum) of 7 float64"});
      CHECK(difference(a.grad, full({3}, sum_to(ranks), DType::float64, device)) == 0);
      CHECK(difference(b.grad, full({2, 2}, 5, DType::float64, device)) == 0);
      sum_slice_gradients(group, {});
      CHECK(group.taken() == Calls{});
    });
  }
}

TEST_CASE("sequence region: what is wrong is named before anything is sent") {
  on_recorded_ranks(2, [](RecordedGroup& group, Device& device) {
    Tape tape(GradMode::record);
    const auto value = [&](Shape shape) { return tape.constant(drawn(shape, 1, device)); };
    CHECK_THROWS_WITH(
        scatter_sum_sequence(tape, group, value({1, 5, 3})),
        contains("5 tokens of a sequence do not divide among 2 tensor-parallel ranks; "
                 "the nearest that do are 4 and 6"));
    CHECK_THROWS_WITH(scatter_sum_sequence(tape, group, value({4, 3})),
                      contains("expected [batch, tokens, width]"));
    CHECK_THROWS_WITH(gather_sequence(tape, group, value({4, 3}), Kept::whole),
                      contains("expected [batch, tokens, width]"));
    CHECK(group.taken() == Calls{});
  });
}
