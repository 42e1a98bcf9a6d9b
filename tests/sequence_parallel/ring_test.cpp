// Attention in a ring, forward and backward, beside dense attention of whole samples.
#include <array>
#include <cstddef>

#include "engine/parallel/sequence/context_layers.hpp"
#include "engine/parallel/sequence/ring_backward.hpp"
#include "tests/sequence_parallel/shared.hpp"

using namespace lockstep;
using namespace lockstep::sequence_parallel;
using test::columns, test::difference, test::near;

namespace {

constexpr std::int64_t batch = 2, heads = 2, width = 6;

struct Dense {
  Tensor qkv, grad;
  ops::Attention whole;
  Tensor gradient;
};

Dense dense_of(std::int64_t length, double size, Device& device) {
  Dense all{test::drawn({batch, length, 3 * width}, 5, device, size),
            test::drawn({batch, length, width}, 6, device),
            {},
            {}};
  all.whole = ops::causal_attention(all.qkv, heads);
  all.gradient = ops::causal_attention_backward(all.grad, all.qkv, all.whole, heads);
  return all;
}

void check_rank(comm::ProcessGroup& world, ContextKind kind, std::int64_t length, double size) {
  CpuDevice device;
  const Dense dense = dense_of(length, size, device);
  const auto of_ranks = positions_of_ranks(kind, length, world.size());
  const Positions own = of_ranks[static_cast<std::size_t>(world.rank())];
  const Tensor qkv = nn::tokens_at(dense.qkv, own);
  const Tensor queries = columns(qkv, 0, width), keys_values = columns(qkv, width, 2 * width);
  const Tensor kept = keys_values.clone();
  const std::int64_t before = world.traffic().bytes_sent;
  const ops::Attention seen = ring_attention(world, queries, keys_values, heads, of_ranks);
  const std::int64_t forward = world.traffic().bytes_sent - before;
  CHECK(difference(seen.output, nn::tokens_at(dense.whole.output, own)) <= near);
  CHECK(difference(keys_values, kept) == 0);
  const auto back = ring_attention_backward(world, nn::tokens_at(dense.grad, own), queries,
                                            keys_values, seen, heads, of_ranks);
  const std::int64_t backward = world.traffic().bytes_sent - before - forward;
  const std::array parts{back.queries, back.keys_values};
  CHECK(difference(ops::concatenate(parts, 2), nn::tokens_at(dense.gradient, own)) <=
        near * std::max(1.0, size * size));
  // Whole blocks of all ranks but the right neighbour's come by and are sent on.
  std::int64_t tokens = 0;
  const int right = (world.rank() + 1) % world.size();
  for (int rank = 0; rank < world.size(); ++rank) {
    if (rank != right) tokens += of_ranks[static_cast<std::size_t>(rank)].count();
  }
  if (world.size() == 1) tokens = 0;
  CHECK(forward == tokens * batch * 2 * width * 8);
  if (length % (2 * world.size()) == 0) CHECK(backward == 2 * forward);
}

}  // namespace

TEST_CASE("ring attention: output, gradients and bytes are those of the formula, on any ranks") {
  const auto kind = GENERATE(ContextKind::ring, ContextKind::zigzag);
  for (const int ranks : {1, 2, 3, 4, 8}) {
    for (const std::int64_t length : {16, 17, 24}) {
      CAPTURE(static_cast<int>(kind), ranks, length);
      test::on_fibers(ranks,
                      [&](comm::ProcessGroup& world) { check_rank(world, kind, length, 1); });
    }
  }
}

TEST_CASE("ring attention: large scores, and one token a rank") {
  test::on_fibers(3, [&](comm::ProcessGroup& world) {
    check_rank(world, ContextKind::zigzag, 13, 100);
    check_rank(world, ContextKind::ring, 3, 1);
  });
}

TEST_CASE("ring attention: a NaN of a later token reaches none before it") {
  test::on_fibers(2, [&](comm::ProcessGroup& world) {
    CpuDevice device;
    const auto of_ranks = positions_of_ranks(ContextKind::ring, 8, 2);
    const bool last = world.rank() == 1;
    const Tensor queries = full({1, 4, width}, 0.5, DType::float64, device);
    const Tensor keys = full({1, 4, 2 * width}, last ? std::nan("") : 0.5, DType::float64, device);
    const ops::Attention seen = ring_attention(world, queries, keys, heads, of_ranks);
    CHECK(std::isnan(seen.output.item(0)) == last);
  });
}

TEST_CASE("ring attention: what does not fit is refused before anything is sent") {
  test::on_fibers(2, [&](comm::ProcessGroup& world) {
    CpuDevice device;
    const auto of_ranks = positions_of_ranks(ContextKind::ring, 8, 2);
    const Tensor queries = zeros({1, 4, width}, DType::float64, device);
    const Tensor keys_values = zeros({1, 4, 2 * width}, DType::float64, device);
    const auto attend = [&](const Tensor& q, const Tensor& kv, std::int64_t count,
                            const std::vector<Positions>& positions) {
      ring_attention(world, q, kv, count, positions);
    };
    CHECK_THROWS_WITH(attend(queries, queries, heads, of_ranks), test::contains("2 · width"));
    CHECK_THROWS_WITH(attend(queries, keys_values, 4, of_ranks),
                      test::contains("4 heads do not divide the width 6"));
    CHECK_THROWS_WITH(attend(queries, keys_values, heads, {of_ranks[0]}),
                      test::contains("1 ranks in a ring of 2"));
    CHECK_THROWS_WITH(
        attend(queries, keys_values, heads, positions_of_ranks(ContextKind::ring, 10, 2)),
        test::contains("4 tokens at 5 positions"));
    CHECK_THROWS_WITH(attend(queries, keys_values, heads, {of_ranks[0], {}}),
                      test::contains("no token"));
    CHECK(world.traffic().bytes_sent == 0);
  });
}

TEST_CASE(
    "ring attention: two blocks of keys and values are there at a time, the own one included") {
  test::on_fibers(4, [&](comm::ProcessGroup& world) {
    CpuDevice device;
    const auto of_ranks = positions_of_ranks(ContextKind::zigzag, 16, 4);
    const Tensor queries = test::drawn({batch, 4, width}, 1, device);
    Tensor keys_values = test::drawn({batch, 4, 2 * width}, 2, device);
    const auto one = static_cast<std::int64_t>(queries.bytes());
    const auto block = static_cast<std::int64_t>(keys_values.bytes());
    device.reset_peak();
    ring_attention(world, queries, std::move(keys_values), heads, of_ranks);
    CHECK(device.bytes_peak(MemoryKind::buffers) == one + 2 * block);
    CHECK(device.bytes_now() == one);
  });
}
