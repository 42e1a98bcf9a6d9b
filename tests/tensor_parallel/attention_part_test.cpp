// Attention by heads beside the attention of one device.
#include "engine/autograd/operations.hpp"
#include "engine/parallel/tensor/parallel_attention.hpp"
#include "tests/tensor_parallel/ranks.hpp"

using namespace lockstep;
using namespace lockstep::test;
using namespace lockstep::tensor_parallel;

namespace {

constexpr std::int64_t batch = 2, tokens = 5, heads = 24, width = 48;

// The weights of a layer, whole or a rank's share.
struct Weights {
  Parameter qkv_weight, qkv_bias, proj_weight, proj_bias;
};

Weights whole_weights(Device& device) {
  return {parameter(drawn({3 * width, width}, 1, device)), parameter(drawn({3 * width}, 2, device)),
          parameter(drawn({width, width}, 3, device)), parameter(drawn({width}, 4, device))};
}

// The ranges of rows, one after the other.
Tensor rows_of_share(const Tensor& x, const std::array<RowRange, 3>& ranges) {
  std::vector<Tensor> parts;
  for (const auto& [first, count] : ranges) parts.push_back(x.narrow(first, count));
  return ops::concatenate(parts, 0);
}

Weights share_of(const Weights& whole, int rank, int ranks) {
  const auto rows = qkv_rows(width, heads, ranks, rank);
  return {parameter(rows_of_share(whole.qkv_weight.value, rows)),
          parameter(rows_of_share(whole.qkv_bias.value, rows)),
          parameter(columns_of_rank(whole.proj_weight.value, rank, ranks)),
          parameter(whole.proj_bias.value.clone())};
}

AttentionShare leaves(Tape& tape, Weights& weights) {
  return {tape.leaf(weights.qkv_weight), tape.leaf(weights.qkv_bias),
          tape.leaf(weights.proj_weight), tape.leaf(weights.proj_bias)};
}

}  // namespace

TEST_CASE("parallel_attention: the layer of one device, with one all-reduce each way") {
  for (const int ranks : group_sizes) {
    CAPTURE(ranks);
    on_recorded_ranks(ranks, [&](RecordedGroup& group, Device& device) {
      const int rank = group.rank();
      const Tensor x = drawn({batch, tokens, width}, 5, device);
      const Tensor grad = drawn({batch, tokens, width}, 6, device);
      Weights whole = whole_weights(device), own = share_of(whole, rank, ranks);

      Tape one(GradMode::record);
      const Value in = one.input(x);
      const AttentionShare all = leaves(one, whole);
      const Value qkv = autograd::linear(one, in, all.qkv_weight, all.qkv_bias);
      const Value expected = autograd::linear(one, autograd::causal_attention(one, qkv, heads),
                                              all.proj_weight, all.proj_bias);
      one.backward(expected, grad);

      const std::string sum = text("all_reduce (sum) of ", x.numel(), " float64");
      Tape tape(GradMode::record);
      const Value entered = tape.input(x);
      const Value y = parallel_attention(tape, group, entered, leaves(tape, own), heads);
      CHECK(group.taken() == Calls{sum});
      CHECK(difference(y.tensor, expected.tensor) <= near);
      tape.backward(y, grad);
      CHECK(group.taken() == Calls{sum});
      CHECK(difference(tape.gradient_of(entered), one.gradient_of(in)) <= 10 * near);
      const auto rows = qkv_rows(width, heads, ranks, rank);
      CHECK(difference(own.qkv_weight.grad, rows_of_share(whole.qkv_weight.grad, rows)) <= near);
      CHECK(difference(own.qkv_bias.grad, rows_of_share(whole.qkv_bias.grad, rows)) <= near);
      CHECK(difference(own.proj_weight.grad,
                       columns_of_rank(whole.proj_weight.grad, rank, ranks)) <= near);
      CHECK(difference(own.proj_bias.grad, whole.proj_bias.grad) <= near);
    });
  }
}

TEST_CASE("parallel_attention: heads that ranks do not divide are named before anything is sent") {
  on_recorded_ranks(2, [](RecordedGroup& group, Device& device) {
    Tape tape(GradMode::record);
    const auto value = [&](Shape shape) { return tape.constant(drawn(shape, 1, device)); };
    const AttentionShare share{value({18, 12}), value({18}), value({12, 6}), value({12})};
    CHECK_THROWS_WITH(parallel_attention(tape, group, value({1, 2, 12}), share, 3),
                      contains("3 heads do not divide among 2 tensor-parallel ranks; the nearest "
                               "that do are 2 and 4"));
    CHECK(group.taken() == Calls{});
  });
}
