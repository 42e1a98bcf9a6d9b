// Arithmetic of bfloat16 and float16: every operation is the float32 one on the same numbers, and
// its results are rounded once.
#include <cmath>
#include <vector>

#include "engine/base/random.hpp"
#include "engine/tensor/ops.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using lockstep::test::contains;

namespace {

CpuDevice host;

// Numbers that the half type holds, in that type or in float32.
Tensor drawn(Shape shape, DType half, DType in, std::uint64_t seed, double scale = 1) {
  std::vector<double> values(static_cast<std::size_t>(numel_of(shape)));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = scale * (2 * random_uniform(seed, i) - 1);
  }
  return from_values(values, std::move(shape), DType::float32, host).to(half).to(in);
}

// What each operation gives when its operands are of type `in`.
std::vector<Tensor> results(DType half, DType in) {
  const auto some = [&](Shape shape, std::uint64_t seed) {
    return drawn(std::move(shape), half, in, seed);
  };
  const Tensor x = some({5, 12}, 1), y = some({5, 12}, 2), row = some({12}, 3),
               w = some({7, 12}, 4);
  const std::vector<double> which{3, 0, 11, 4, -100};
  const Tensor labels = from_values(which, {5}, DType::int64, host);
  const Tensor indices = from_values(std::span(which).first(4), {4}, DType::int64, host);
  const Tensor one = full({1}, 0.37, DType::float32, host);
  const Tensor qkv = some({2, 9, 12}, 5), grad = some({2, 9, 4}, 6);
  const Tensor bias = some({12}, 7), added = x.clone();
  ops::add_row_(added, row);

  std::vector<Tensor> all{ops::add(x, row),
                          ops::subtract(x, y),
                          ops::multiply(x, y),
                          ops::scale(x, 1.0 / 3),
                          ops::sum_to(x, {1, 12}),
                          ops::sum(x),
                          ops::linear(x, w),
                          ops::sum_rows(x),
                          added,
                          ops::softmax(x),
                          ops::softmax_backward(x, y),
                          ops::embedding(some({12, 6}, 8), indices),
                          ops::embedding_backward(some({4, 6}, 9), indices, 12),
                          ops::dropout(x, {.rate = 0.4, .seed = 3})};
  for (const auto kind : ops::all_activations) {
    all.push_back(ops::activate(x, kind));
    all.push_back(ops::activate_backward(y, x, kind));
  }
  const auto loss = ops::cross_entropy(x, labels);
  all.insert(all.end(), {loss.loss, loss.probabilities,
                         ops::cross_entropy_backward(one, some({5, 12}, 10), labels)});
  // Statistics of float32: the derivatives are given the same ones.
  const auto layer = ops::layer_norm(x, row, bias, 1e-5);
  const auto root = ops::rms_norm(x, row, 1e-5);
  all.insert(all.end(), {layer.y, layer.mean, layer.inverse_deviation, root.y});
  const auto of_layer = ops::norm_backward(y, x, row, layer.mean, layer.inverse_deviation);
  all.insert(all.end(), {of_layer.x, of_layer.weight, of_layer.bias,
                         ops::normalize_again(x, row, bias, layer.mean, layer.inverse_deviation)});
  const auto attention = ops::causal_attention(qkv, 2);
  all.insert(all.end(), {attention.output, attention.log_sums});
  all.push_back(
      ops::causal_attention_backward(grad, qkv, {some({2, 9, 4}, 11), attention.log_sums}, 2));
  const Tensor keys_values = some({2, 5, 8}, 16);
  const ops::AttentionOptions options{2, {{3, 9}}, {{0, 2}, {8, 3}}};
  const auto block = ops::attention(grad, keys_values, options);
  const auto of_block = ops::attention_backward(grad, grad, keys_values,
                                                {some({2, 9, 4}, 11), block.log_sums}, options);
  all.insert(all.end(), {block.output, block.log_sums, of_block.queries, of_block.keys_values});

  const Tensor value = some({30}, 12), slope = some({30}, 13);
  const Tensor velocity = some({30}, 14), first = some({30}, 15),
               second = ops::multiply(velocity, velocity).to(half).to(in);
  const Tensor by_sgd = value.clone(), by_adam = value.clone();
  ops::sgd_update_(by_sgd, slope, velocity, {.learning_rate = 0.1, .momentum = 0.9});
  all.insert(all.end(), {by_sgd, velocity});
  ops::adam_update_(by_adam, slope, first, second, {.learning_rate = 0.1, .weight_decay = 0.1}, 3);
  all.insert(all.end(), {by_adam, first, second});
  const Tensor scaled = slope.clone();
  ops::scale_by_(scaled, full({1}, 0.77, DType::float64, host));
  all.insert(all.end(), {scaled, ops::sum_of_squares(std::vector{x, y})});
  return all;
}

}  // namespace

TEST_CASE("halves: an operation is float32's, rounded once") {
  for (const DType half : {DType::bfloat16, DType::float16}) {
    const auto got = results(half, half), exact = results(half, DType::float32);
    REQUIRE(got.size() == exact.size());
    std::size_t rounded = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
      CAPTURE(name_of(half), i);
      const Tensor expected = exact[i].to(got[i].dtype());
      REQUIRE(got[i].shape() == expected.shape());
      for (std::int64_t k = 0; k < expected.numel(); ++k) {
        CAPTURE(k);
        CHECK(got[i].item(k) == expected.item(k));
        rounded += expected.item(k) != exact[i].item(k) ? 1 : 0;
      }
    }
    CHECK(rounded > 500);  // or nothing was tried
  }
}

TEST_CASE("halves: what stands for a row or a batch is kept in float32") {
  const Tensor x = drawn({3, 8}, DType::bfloat16, DType::bfloat16, 1);
  const Tensor labels = zeros({3}, DType::int64, host);
  CHECK(ops::cross_entropy(x, labels).loss.dtype() == DType::float32);
  CHECK(ops::rms_norm(x, full({8}, 1, DType::bfloat16, host), 0).inverse_deviation.dtype() ==
        DType::float32);
  CHECK(ops::causal_attention(x.view({1, 2, 12}), 2).log_sums.dtype() == DType::float32);
  CHECK(ops::softmax(x).dtype() == DType::bfloat16);
  CHECK_THROWS_WITH(ops::cross_entropy_backward(full({1}, 1, DType::bfloat16, host), x, labels),
                    contains("the loss's gradient is bfloat16 [1], expected one float32"));
}

TEST_CASE("halves: scratch of a kernel is not in the account") {
  CpuDevice device;
  const Tensor x = full({64, 64}, 1, DType::bfloat16, device);
  device.reset_peak();
  static_cast<void>(ops::softmax(x));
  CHECK(device.bytes_peak() == static_cast<std::int64_t>(2 * x.bytes()));
}
