// Attention by heads, forward and backward, beside dense attention of whole samples.
#include "engine/parallel/sequence/ulysses_attention.hpp"

#include "engine/parallel/sequence/zigzag_split.hpp"
#include "tests/sequence_parallel/shared.hpp"

using namespace lockstep;
using namespace lockstep::sequence_parallel;
using test::difference, test::near;

namespace {

constexpr std::int64_t many_heads = 8, wide = 16;

void check_exchange(comm::ProcessGroup& world, std::int64_t samples, std::int64_t length) {
  CpuDevice device;
  const Tensor all = test::drawn({samples, length, 3 * wide}, 5, device);
  const Tensor grad = test::drawn({samples, length, wide}, 6, device);
  const ops::Attention whole = ops::causal_attention(all, many_heads);
  const Tensor gradient = ops::causal_attention_backward(grad, all, whole, many_heads);
  const Positions own = contiguous(length, world.size(), world.rank());
  Tape tape(GradMode::record);
  const Value qkv = tape.input(nn::tokens_at(all, own));
  const std::int64_t before = world.traffic().bytes_sent;
  const Value seen = ulysses_attention(tape, world, qkv, many_heads, length);
  const std::int64_t forward = world.traffic().bytes_sent - before;
  tape.backward(seen, nn::tokens_at(grad, own));
  const std::int64_t backward = world.traffic().bytes_sent - before - forward;
  CHECK(difference(seen.tensor, nn::tokens_at(whole.output, own)) <= near);
  CHECK(difference(tape.gradient_of(qkv), nn::tokens_at(gradient, own)) <= near);
  if (length % world.size() == 0) {
    const std::int64_t slice = samples * length / world.size() * wide;
    CHECK(forward == 4 * slice * (world.size() - 1) / world.size() * 8);
    CHECK(backward == forward);
  }
}

}  // namespace

TEST_CASE("ulysses attention: output, gradients and bytes are those of the formula") {
  for (const int ranks : {1, 2, 4, 8}) {
    for (const std::int64_t samples : {1, 3}) {
      for (const std::int64_t length : {16, 17}) {
        CAPTURE(ranks, samples, length);
        test::on_fibers(ranks,
                        [&](comm::ProcessGroup& world) { check_exchange(world, samples, length); });
      }
    }
  }
}

TEST_CASE("ulysses attention: heads that do not divide, and what does not fit, are refused") {
  test::on_fibers(3, [&](comm::ProcessGroup& world) {
    CpuDevice device;
    Tape tape(GradMode::record);
    const Value qkv = tape.constant(zeros({1, 4, 3 * wide}, DType::float64, device));
    CHECK_THROWS_WITH(ulysses_attention(tape, world, qkv, 8, 12),
                      test::contains("nearest that do are 6 and 9"));
    CHECK_THROWS_WITH(ulysses_attention(tape, world, qkv, 3, 12),
                      test::contains("3 heads do not divide the width 16"));
    CHECK_THROWS_WITH(ulysses_attention(tape, world, qkv, 8, 15),
                      test::contains("expected [batch, 5"));
    CHECK(world.traffic().bytes_sent == 0);
  });
}
