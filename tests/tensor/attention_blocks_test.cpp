// Attention between blocks of a sample's tokens, beside the attention of the whole sample to itself
// (attention_test.cpp holds that to its definition).
#include <cmath>
#include <limits>
#include <vector>

#include "engine/base/random.hpp"
#include "engine/tensor/attention.hpp"
#include "engine/tensor/cpu/products.hpp"
#include "engine/tensor/ops.hpp"
#include "engine/tensor/symbolic.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using lockstep::test::contains;

namespace {

constexpr double log_of_none = -std::numeric_limits<double>::infinity();

Tensor drawn(Shape shape, double size, std::uint64_t stream, DType dtype, Device& device) {
  std::vector<double> values(static_cast<std::size_t>(numel_of(shape)));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = size * (2 * random_uniform(stream, i) - 1);
  }
  return from_values(values, std::move(shape), dtype, device);
}

// The tokens of x [B, T, W] at these positions.
Tensor tokens_at(const Tensor& x, const Positions& at) {
  const std::vector<Tensor> parts{ops::narrow(x, 1, at.early.first, at.early.count),
                                  ops::narrow(x, 1, at.late.first, at.late.count)};
  return ops::concatenate(parts, 1);
}

// Each rank's tokens: a slice, or two of 2·N slices, one from either end.
enum class Cut : std::uint8_t { slices, zigzag };
std::vector<Positions> cut(std::int64_t tokens, std::int64_t ranks, Cut how) {
  const std::int64_t parts = how == Cut::zigzag ? 2 * ranks : ranks;
  const auto part = [&](std::int64_t i) {
    const std::int64_t first = tokens * i / parts;
    return TokenRange{first, tokens * (i + 1) / parts - first};
  };
  std::vector<Positions> all;
  for (std::int64_t r = 0; r < ranks; ++r) {
    all.push_back({part(r), how == Cut::zigzag ? part(parts - 1 - r) : TokenRange{}});
  }
  return all;
}

// Queries, and keys with values, of one slice.
struct Slice {
  Positions positions;
  Tensor queries, keys_values;
};
Slice slice_of(const Tensor& qkv, const Positions& positions) {
  const Tensor own = tokens_at(qkv, positions);
  const std::int64_t width = own.size(2) / 3;
  return {positions, ops::narrow(own, 2, 0, width), ops::narrow(own, 2, width, 2 * width)};
}

// The mean of blocks' outputs, weighted by exp(log-sum).
ops::Attention merged(const std::vector<ops::Attention>& blocks) {
  const Tensor out = zeros(blocks[0].output.shape(), DType::float64, blocks[0].output.device());
  const Tensor log_sums = zeros(blocks[0].log_sums.shape(), DType::float64, out.device());
  const std::int64_t heads = log_sums.size(1), tokens = out.size(1), width = out.size(2);
  for (std::int64_t row = 0; row < log_sums.numel(); ++row) {
    double most = log_of_none, sum = 0;
    for (const auto& block : blocks) most = std::max(most, block.log_sums.item(row));
    for (const auto& block : blocks) sum += std::exp(block.log_sums.item(row) - most);
    log_sums.data<double>()[static_cast<std::size_t>(row)] = most + std::log(sum);
    const std::int64_t sequence = row / (heads * tokens), head = row / tokens % heads,
                       size = width / heads;
    for (std::int64_t d = 0; d < size; ++d) {
      const std::int64_t at = (sequence * tokens + row % tokens) * width + head * size + d;
      for (const auto& block : blocks) {
        out.data<double>()[static_cast<std::size_t>(at)] +=
            std::exp(block.log_sums.item(row) - most) / sum * block.output.item(at);
      }
    }
  }
  return {out, log_sums};
}

// The largest difference, in units of the largest element.
double distance(const Tensor& got, const Tensor& want) {
  REQUIRE(got.shape() == want.shape());
  double largest = 0, apart = 0;
  for (std::int64_t i = 0; i < want.numel(); ++i) {
    largest = std::max(largest, std::abs(want.item(i)));
    const double d = std::abs(got.item(i) - want.item(i));
    apart = d <= apart ? apart : d;  // a NaN is the farthest
  }
  return apart / largest;
}

bool all_are(const Tensor& x, double value) {
  for (std::int64_t i = 0; i < x.numel(); ++i) {
    if (x.item(i) != value) return false;
  }
  return true;
}

struct Sample {
  std::int64_t batch, tokens, heads, size, ranks;
};

// Every rank's output and gradients, from all blocks, beside those of the whole sample.
void check_blocks(const Sample& sample, Cut how, DType dtype, double tolerance, Device& device) {
  const auto [batch, tokens, heads, size, ranks] = sample;
  CAPTURE(batch, tokens, heads, size, ranks, how == Cut::zigzag);
  const Tensor qkv = drawn({batch, tokens, 3 * heads * size}, 2, 1, dtype, device);
  const Tensor grad = drawn({batch, tokens, heads * size}, 1, 2, dtype, device);
  const auto whole = ops::causal_attention(qkv, heads);
  const Tensor of_qkv = ops::causal_attention_backward(grad, qkv, whole, heads);

  std::vector<Slice> slices;
  for (const Positions& positions : cut(tokens, ranks, how)) {
    slices.push_back(slice_of(qkv, positions));
  }
  std::vector<Tensor> of_keys(slices.size());
  std::vector<Tensor> of_queries(slices.size());
  for (std::size_t r = 0; r < slices.size(); ++r) {
    const Slice& own = slices[r];
    std::vector<ops::Attention> blocks;
    for (const Slice& other : slices) {
      blocks.push_back(
          ops::attention(own.queries, other.keys_values, {heads, own.positions, other.positions}));
    }
    const auto [output, log_sums] = merged(blocks);
    CHECK(distance(output, tokens_at(whole.output, own.positions)) < tolerance);
    const ops::Attention final{output.to(dtype), log_sums.to(dtype)};
    for (std::size_t s = 0; s < slices.size(); ++s) {
      const auto [dq, dkv] = ops::attention_backward(tokens_at(grad, own.positions), own.queries,
                                                     slices[s].keys_values, final,
                                                     {heads, own.positions, slices[s].positions});
      const auto add = [](Tensor& to, const Tensor& more) {
        to = to.defined() ? ops::add(to, more) : more;
      };
      add(of_queries[r], dq);
      add(of_keys[s], dkv);
    }
  }
  for (std::size_t r = 0; r < slices.size(); ++r) {
    const Slice wanted = slice_of(of_qkv, slices[r].positions);
    CHECK(distance(of_queries[r], wanted.queries) < tolerance);
    CHECK(distance(of_keys[r], wanted.keys_values) < tolerance);
  }
}

}  // namespace

// Blocks of keys and of queries (64, 256) end inside a slice, and a slice inside a block.
// Tolerance: as in attention_test.cpp; a sum of blocks' gradients rounds once more.
TEST_CASE("attention: blocks of a sample, merged, are the sample's, forward and backward") {
  CpuDevice device(kernels::LOCKSTEP_TEST_PRODUCTS());
  for (const Cut how : {Cut::slices, Cut::zigzag}) {
    for (const Sample& sample : {Sample{1, 8, 1, 1, 1}, Sample{2, 7, 2, 3, 3},
                                 Sample{1, 65, 2, 4, 2}, Sample{1, 700, 1, 4, 2}}) {
      check_blocks(sample, how, DType::float64, 1e-13, device);
      check_blocks(sample, how, DType::float32, 4e-5, device);
    }
  }
}

TEST_CASE("attention: a sample as one block has the bits of the packed projection's") {
  CpuDevice device(kernels::LOCKSTEP_TEST_PRODUCTS());
  for (const std::int64_t tokens : {1, 64, 70, 300}) {
    CAPTURE(tokens);
    const Tensor qkv = drawn({2, tokens, 3 * 6}, 2, 1, DType::float32, device);
    const Tensor grad = drawn({2, tokens, 6}, 1, 2, DType::float32, device);
    const auto packed = ops::causal_attention(qkv, 2);
    const Tensor of_packed = ops::causal_attention_backward(grad, qkv, packed, 2);
    const Slice own = slice_of(qkv, {{0, tokens}});
    const ops::AttentionOptions options{2, own.positions, own.positions};
    const auto apart = ops::attention(own.queries, own.keys_values, options);
    const auto of_apart =
        ops::attention_backward(grad, own.queries, own.keys_values, apart, options);
    const std::vector<Tensor> gradients{of_apart.queries, of_apart.keys_values};
    const std::vector<Tensor> got{apart.output, apart.log_sums, ops::concatenate(gradients, 2)};
    const std::vector<Tensor> wanted{packed.output, packed.log_sums, of_packed};
    CHECK(checksums_of(got) == checksums_of(wanted));
    // The sample's place does not matter, only who is before whom.
    const Positions later{{1000, tokens}};
    CHECK(checksums_of(std::vector{
              ops::attention(own.queries, own.keys_values, {2, later, later}).output}) ==
          checksums_of(std::vector{packed.output}));
  }
}

// A row of a block of queries that the others see something in, blocks of nothing, and no block.
TEST_CASE("attention: what sees nothing gets 0 and -∞, and gradients of 0, never NaN") {
  CpuDevice device(kernels::LOCKSTEP_TEST_PRODUCTS());
  struct Case {
    Positions queries, keys;
  };
  for (const auto& [queries, keys] :
       {Case{{{0, 2}, {10, 1}}, {{5, 4}}}, Case{{{0, 70}}, {{69, 300}}}, Case{{{0, 3}}, {{3, 3}}},
        Case{{{0, 70}, {500, 1}}, {{400, 3}}}, Case{{{0, 1}, {900, 2}}, {{5, 300}}},
        Case{{{4, 3}}, {}}, Case{{}, {{4, 3}}}}) {
    const std::int64_t Tq = queries.count(), Tk = keys.count();
    CAPTURE(Tq, Tk, keys.early.first);
    const Tensor q = drawn({2, Tq, 4}, 2, 1, DType::float32, device);
    const Tensor kv = drawn({2, Tk, 8}, 2, 2, DType::float32, device);
    full({2, Tq, 4}, std::nan(""), DType::float32, device);  // memory that results may be made in
    const auto [output, log_sums] = ops::attention(q, kv, {2, queries, keys});
    // -∞ where the queries see nothing in any block either, else what other blocks bring.
    for (const double elsewhere : {log_of_none, 0.5}) {
      const Tensor final_sums = log_sums.clone();
      for (float& sum : final_sums.data<float>()) {
        if (sum == log_of_none) sum = static_cast<float>(elsewhere);
      }
      const auto [of_q, of_kv] =
          ops::attention_backward(drawn({2, Tq, 4}, 1, 3, DType::float32, device), q, kv,
                                  {output, final_sums}, {2, queries, keys});
      for (std::int64_t b = 0; b < 2; ++b) {
        for (std::int64_t i = 0; i < Tq; ++i) {
          const bool sees = keys.before(queries.of(i) + 1) > 0;
          CAPTURE(b, i, sees);
          const auto row = [&](const Tensor& x) {
            return x.view({2 * Tq, 4}).narrow(b * Tq + i, 1);
          };
          CHECK(all_are(row(output), 0) == !sees);
          CHECK((sees ? all_are(ops::subtract(row(of_q), row(of_q)), 0) : all_are(row(of_q), 0)));
          for (std::int64_t h = 0; h < 2; ++h) {
            CHECK((log_sums.item((b * 2 + h) * Tq + i) == log_of_none) == !sees);
          }
        }
        for (std::int64_t j = 0; j < Tk; ++j) {
          const bool seen = queries.before(keys.of(j)) < Tq;
          CAPTURE(b, j, seen);
          CHECK(all_are(of_kv.view({2 * Tk, 8}).narrow(b * Tk + j, 1), 0) == !seen);
        }
      }
    }
  }
}

TEST_CASE("attention: logits of ±10,000 in two blocks merge to those of one") {
  CpuDevice device(kernels::LOCKSTEP_TEST_PRODUCTS());
  // Scores are q·k / √1: 100 · ±100. Queries see keys of +10,000 in one block, -10,000 in the
  // other.
  std::vector<double> of_keys;
  for (const double key : {100, -100, -100, 100, -100, -100})
    of_keys.insert(of_keys.end(), {key, key / 10});
  const Tensor q = full({1, 1, 1}, 100, DType::float32, device);
  const Tensor kv = from_values(of_keys, {1, 6, 2}, DType::float32, device);
  const auto part = [&](std::int64_t first, std::int64_t count) {
    return ops::attention(q, ops::narrow(kv, 1, first, count), {1, {{9, 1}}, {{first, count}}});
  };
  CHECK(part(4, 2).log_sums.item() == test::Approx(-10000 + std::log(2)));
  const auto all = merged({part(0, 4), part(4, 2)});
  CHECK(all.output.item() == test::Approx(10));
  CHECK(all.log_sums.item() == test::Approx(10000 + std::log(2)));
  CHECK(part(0, 6).output.item() == test::Approx(10));
}

// One key and one value, of a token inside a block of queries: all tokens before it are as without.
TEST_CASE("attention: NaN of a later token reaches neither output nor gradient of a query") {
  CpuDevice device(kernels::LOCKSTEP_TEST_PRODUCTS());
  for (const double poison : {std::nan(""), -log_of_none}) {
    for (const std::int64_t column : {4, 6}) {  // of a key, of a value
      constexpr std::int64_t tokens = 100, at = 80;
      const Tensor qkv = drawn({1, tokens, 6}, 2, 1, DType::float64, device);
      const Tensor grad = drawn({1, tokens, 2}, 1, 2, DType::float64, device);
      const auto clean = ops::causal_attention(qkv, 1);
      const Tensor of_clean = ops::causal_attention_backward(grad, qkv, clean, 1);
      qkv.data<double>()[at * 6 + column - 1] = poison;
      const auto seen = ops::causal_attention(qkv, 1);
      const Tensor of_seen = ops::causal_attention_backward(grad, qkv, seen, 1);
      CAPTURE(poison, column);
      const auto before = [](const Tensor& x) {
        return ops::narrow(x.view({1, tokens, -1}), 1, 0, at);
      };
      CHECK(distance(before(seen.output), before(clean.output)) < 1e-13);
      CHECK(distance(before(seen.log_sums), before(clean.log_sums)) < 1e-13);
      CHECK(distance(ops::narrow(before(of_seen), 2, 0, 2),
                     ops::narrow(before(of_clean), 2, 0, 2)) < 1e-13);
      bool reached = false;  // those that see it
      for (std::int64_t i = 2 * at; i < 2 * tokens; ++i)
        reached |= !std::isfinite(seen.output.item(i));
      CHECK(reached);
    }
  }
}

TEST_CASE("attention: NaN in a query's gradient does not reach the keys that it does not see") {
  CpuDevice device(kernels::LOCKSTEP_TEST_PRODUCTS());
  constexpr std::int64_t tokens = 60, at = 20;
  const Tensor qkv = drawn({1, tokens, 6}, 2, 1, DType::float64, device);
  const Tensor grad = drawn({1, tokens, 2}, 1, 2, DType::float64, device);
  const auto forward = ops::causal_attention(qkv, 1);
  const Tensor clean = ops::causal_attention_backward(grad, qkv, forward, 1);
  grad.data<double>()[at * 2] = std::nan("");
  const Tensor seen = ops::causal_attention_backward(grad, qkv, forward, 1);
  const auto after = [](const Tensor& x) { return ops::narrow(x, 1, at + 1, tokens - at - 1); };
  CHECK(distance(after(seen), after(clean)) < 1e-13);
  CHECK(std::isnan(seen.item(4)));  // of token 0's values
}

TEST_CASE("attention: blocks of a sample cost what the sample costs, and unseen ones nothing") {
  SymbolicDevice device;
  const auto work = [&](const Positions& queries, const Positions& keys) {
    const Tensor q = zeros({2, queries.count(), 6}, DType::float32, device);
    const Tensor kv = zeros({2, keys.count(), 12}, DType::float32, device);
    const double flops = device.flops(), bytes = device.bytes_moved();
    const auto forward = ops::attention(q, kv, {3, queries, keys});
    ops::attention_backward(forward.output, q, kv, forward, {3, queries, keys});
    CHECK((device.flops() == flops) == (device.bytes_moved() == bytes));
    return device.flops() - flops;
  };
  constexpr std::int64_t tokens = 37;
  const Tensor qkv = zeros({2, tokens, 18}, DType::float32, device);
  const double before = device.flops();
  const auto forward = ops::causal_attention(qkv, 3);
  ops::causal_attention_backward(forward.output, qkv, forward, 3);
  const double whole = device.flops() - before;
  CHECK(whole == 2 * 3 * tokens * tokens / 2.0 * ((2 * 2 * 2 + 20) + (2 * 5 * 2 + 20)));
  for (const Cut how : {Cut::slices, Cut::zigzag}) {
    double sum = 0;
    for (const Positions& queries : cut(tokens, 3, how)) {
      for (const Positions& keys : cut(tokens, 3, how)) sum += work(queries, keys);
    }
    CHECK(sum == whole);
  }
  CHECK(work({{0, 8}}, {{8, 8}}) == 0);
  CHECK(work({{7, 1}}, {{0, 8}}) == 2 * 3 * 7.5 * 68);
}

TEST_CASE("attention: a broken contract is told with both sides of it") {
  CpuDevice device(kernels::LOCKSTEP_TEST_PRODUCTS());
  const Tensor q = zeros({2, 3, 4}, DType::float32, device);
  const Tensor kv = zeros({2, 5, 8}, DType::float32, device);
  const Positions three{{0, 3}}, five{{0, 2}, {4, 3}};
  const auto refused = [&](const Tensor& queries, const Tensor& keys_values,
                           const ops::AttentionOptions& options, const char* why) {
    CHECK_THROWS_WITH(ops::attention(queries, keys_values, options), contains(why));
  };
  CHECK_NOTHROW(ops::attention(q, kv, {2, three, five}));
  refused(q, kv, {3, three, five}, "attention: 3 heads do not divide the width 4");
  refused(q, kv, {0, three, five}, "attention: 0 heads do not divide the width 4");
  refused(q, kv, {2, five, five}, "attention: 2 + 3 positions for 3 queries; each token has one");
  refused(q, kv, {2, three, three}, "attention: 3 + 0 positions for 5 keys; each token has one");
  refused(q, kv, {2, three, {{0, 3}, {2, 2}}},
          "the positions of the keys go up to 2, and on from 2; they must increase");
  refused(q, q, {2, three, three}, "keys and values float32 [2, 3, 4]; expected");
  refused(q, kv.to(DType::float64), {2, three, five}, "and keys and values float64 [2, 5, 8]");
  refused(q, zeros({1, 5, 8}, DType::float32, device), {2, three, five}, "of one dtype");
  const ops::Attention other{q, zeros({2, 1, 3}, DType::float32, device)};
  CHECK_THROWS_WITH(ops::attention_backward(q, q, kv, other, {2, three, five}),
                    contains("log-sums float32 [2, 1, 3] are not of queries float32 [2, 3, 4]"));
}
