// Attention of shared sequences on GPUs of paper, whose blocks travel by NCCL.
#include <array>
#include <cstddef>

#include "engine/parallel/sequence/context_layers.hpp"
#include "engine/parallel/sequence/ring_backward.hpp"
#include "engine/parallel/sequence/ulysses_attention.hpp"
#include "tests/nccl/gpu_ranks.hpp"
#include "tests/sequence_parallel/shared.hpp"

using namespace lockstep;
using namespace lockstep::test;
using namespace lockstep::sequence_parallel;

namespace {

constexpr std::int64_t batch = 1, heads = 2, width = 8, tokens = 9;

void expect_near(const std::string& what, const Tensor& seen, const Tensor& expected) {
  const Tensor here = to_host(seen);
  expect(here.shape() == expected.shape(), what + " has another shape");
  for (std::int64_t i = 0; i < here.numel(); ++i) {
    if (std::abs(here.item(i) - expected.item(i)) <= 10 * near) continue;
    throw Error(text(what, ": element ", i, " is ", here.item(i), ", not ", expected.item(i)));
  }
}

// Both passes on this rank's GPU, beside those of whole samples on the processor.
void check_kind(GpuRank& self, ContextKind kind) {
  const Tensor qkv = drawn({batch, tokens, 3 * width}, 1, self.host);
  const Tensor grad = drawn({batch, tokens, width}, 2, self.host);
  const ops::Attention whole = ops::causal_attention(qkv, heads);
  const Tensor gradient = ops::causal_attention_backward(grad, qkv, whole, heads);
  const auto of_ranks = positions_of_ranks(kind, tokens, self.size());
  const Positions own = of_ranks[static_cast<std::size_t>(self.rank())];
  Tape tape(GradMode::record);
  const Value in = tape.input(to_device(nn::tokens_at(qkv, own), self.gpu));
  const Value out = kind == ContextKind::ulysses
                        ? ulysses_attention(tape, self.group, in, heads, tokens)
                        : attend_in_ring(tape, self.group, in, heads, of_ranks);
  tape.backward(out, to_device(nn::tokens_at(grad, own), self.gpu));
  expect_near("output", out.tensor, nn::tokens_at(whole.output, own));
  expect_near("gradient", tape.gradient_of(in), nn::tokens_at(gradient, own));
}

}  // namespace

TEST_CASE("nccl: attention of sequences that GPUs of paper share is that of one processor") {
  const auto kind = GENERATE(ContextKind::ring, ContextKind::zigzag, ContextKind::ulysses);
  CHECK(failures(run_gpus(2, [&](GpuRank& self) -> std::string {
          check_kind(self, kind);
          return "";
        })) == "");
}

TEST_CASE("nccl: a ring of three GPUs of paper, in which two blocks are merged into one") {
  CHECK(failures(run_gpus(3, [&](GpuRank& self) -> std::string {
          check_kind(self, ContextKind::zigzag);
          return "";
        })) == "");
}
