// Attention in blocks against the definition with a whole matrix of scores.
#include "engine/tensor/attention.hpp"

#include <cmath>
#include <vector>

#include "engine/base/random.hpp"
#include "engine/tensor/cpu/products.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using lockstep::test::contains;

namespace {

Tensor random(Shape shape, double size, std::uint64_t seed, DType dtype, Device& device) {
  std::vector<double> values(static_cast<std::size_t>(numel_of(shape)));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = size * (2 * random_uniform(seed, i) - 1);
  }
  return from_values(values, std::move(shape), dtype, device);
}

struct Naive {
  std::vector<double> output, grad_qkv;
};

// softmax(q·kᵀ/√D) with later tokens left out, and its gradient, by the textbook.
Naive attention_by_definition(const Tensor& qkv, const Tensor& grad, std::int64_t heads) {
  const std::int64_t B = qkv.size(0), T = qkv.size(1), C = qkv.size(2) / 3, D = C / heads;
  Naive out{std::vector<double>(static_cast<std::size_t>(B * T * C)),
            std::vector<double>(static_cast<std::size_t>(B * T * 3 * C))};
  const auto at = [&](std::int64_t b, std::int64_t t, std::int64_t h, std::int64_t part,
                      std::int64_t d) {
    return static_cast<std::size_t>(((b * T + t) * 3 + part) * C + h * D + d);
  };
  const auto element = [&](std::size_t i) { return qkv.item(static_cast<std::int64_t>(i)); };
  for (std::int64_t b = 0; b < B; ++b) {
    for (std::int64_t h = 0; h < heads; ++h) {
      for (std::int64_t t = 0; t < T; ++t) {
        std::vector<double> p(static_cast<std::size_t>(t + 1)), dp(p.size());
        double sum = 0, dot = 0, most = -1e300;
        for (std::int64_t s = 0; s <= t; ++s) {
          const auto i = static_cast<std::size_t>(s);
          double score = 0;
          for (std::int64_t d = 0; d < D; ++d) {
            score += element(at(b, t, h, 0, d)) * element(at(b, s, h, 1, d));
            dp[i] += grad.item((b * T + t) * C + h * D + d) * element(at(b, s, h, 2, d));
          }
          p[i] = score / std::sqrt(static_cast<double>(D));
          most = std::max(most, p[i]);
        }
        for (double& weight : p) sum += weight = std::exp(weight - most);
        for (std::size_t i = 0; i < p.size(); ++i) dot += (p[i] /= sum) * dp[i];
        for (std::int64_t s = 0; s <= t; ++s) {
          const auto i = static_cast<std::size_t>(s);
          const double slope = p[i] * (dp[i] - dot) / std::sqrt(static_cast<double>(D));
          for (std::int64_t d = 0; d < D; ++d) {
            const auto to = static_cast<std::size_t>((b * T + t) * C + h * D + d);
            out.output[to] += p[i] * element(at(b, s, h, 2, d));
            out.grad_qkv[at(b, s, h, 2, d)] += p[i] * grad.item(static_cast<std::int64_t>(to));
            out.grad_qkv[at(b, t, h, 0, d)] += slope * element(at(b, s, h, 1, d));
            out.grad_qkv[at(b, s, h, 1, d)] += slope * element(at(b, t, h, 0, d));
          }
        }
      }
    }
  }
  return out;
}

// The largest difference, in units of the largest element.
double distance(const Tensor& got, const std::vector<double>& want) {
  double largest = 0, apart = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    largest = std::max(largest, std::abs(want[i]));
    const double d = std::abs(got.item(static_cast<std::int64_t>(i)) - want[i]);
    apart = d <= apart ? apart : d;  // a NaN is the farthest
  }
  return apart / largest;
}

}  // namespace

// Sequences of one block, of block sizes (64 queries, 256 keys), one beside them, and several.
// Tolerance: sums of up to 600 terms in float64 round to about 1e-14, in float32 to about 1e-5.
TEMPLATE_TEST_CASE("attention: blocks give what the whole matrix gives, forward and backward", "",
                   float, double) {
  const DType dtype = DTypeOf<TestType>::value;
  const double tolerance = dtype == DType::float64 ? 1e-13 : 2e-5;
  CpuDevice device(kernels::LOCKSTEP_TEST_PRODUCTS());
  struct Case {
    std::int64_t batch, tokens, heads, size;
  };
  for (const auto& [batch, tokens, heads, size] :
       {Case{2, 1, 1, 1}, Case{1, 5, 2, 3}, Case{2, 63, 1, 4}, Case{1, 64, 2, 8}, Case{1, 65, 3, 5},
        Case{1, 256, 1, 4}, Case{1, 257, 1, 4}, Case{1, 600, 1, 3}}) {
    CAPTURE(batch, tokens, heads, size);
    const Tensor qkv = random({batch, tokens, 3 * heads * size}, 2, 1, dtype, device);
    const Tensor grad = random({batch, tokens, heads * size}, 1, 2, dtype, device);
    const Naive naive = attention_by_definition(qkv, grad, heads);
    const ops::Attention out = ops::causal_attention(qkv, heads);
    CHECK(distance(out.output, naive.output) < tolerance);
    CHECK(distance(ops::causal_attention_backward(grad, qkv, out, heads), naive.grad_qkv) <
          tolerance);
  }
}

TEST_CASE("attention: scores of thousands neither overflow nor vanish") {
  CpuDevice device(kernels::LOCKSTEP_TEST_PRODUCTS());
  const Tensor qkv = random({1, 300, 6}, 200, 3, DType::float32, device);
  const Tensor grad = random({1, 300, 2}, 1, 4, DType::float32, device);
  const Naive naive = attention_by_definition(qkv, grad, 1);
  // A score near 2·200² / √2 = 56,000 is rounded to 2⁻⁸, so weights are right to about 1e-2.
  CHECK(distance(ops::causal_attention(qkv, 1).output, naive.output) < 2e-2);
}

TEST_CASE("attention: an empty batch and an empty sequence give empty results") {
  CpuDevice device(kernels::LOCKSTEP_TEST_PRODUCTS());
  for (const Shape& shape : {Shape{0, 4, 6}, Shape{2, 0, 6}}) {
    const Tensor qkv = zeros(shape, DType::float32, device);
    const ops::Attention out = ops::causal_attention(qkv, 2);
    CHECK(out.output.numel() == 0);
    CHECK(ops::causal_attention_backward(out.output, qkv, out, 2).numel() == 0);
  }
}

TEST_CASE("attention: widths that heads do not divide are refused") {
  CpuDevice device(kernels::LOCKSTEP_TEST_PRODUCTS());
  CHECK_THROWS_WITH(ops::causal_attention(zeros({1, 2, 9}, DType::float32, device), 2),
                    contains("do not divide among 2 heads"));
  CHECK_THROWS_AS(ops::causal_attention(zeros({2, 9}, DType::float32, device), 1), ContractError);
}

TEST_CASE("attention: memory grows with the tokens, not with their square") {
  const auto peak = [](std::int64_t tokens) {
    CpuDevice own;
    const Tensor qkv = zeros({1, tokens, 12}, DType::float32, own);
    ops::causal_attention(qkv, 1);
    return own.bytes_peak(MemoryKind::activations);
  };
  CHECK(peak(1024) == 2 * peak(512));
}
