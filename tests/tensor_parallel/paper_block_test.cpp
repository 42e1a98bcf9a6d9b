// The block and the loss on GPUs of paper, whose sums travel by NCCL.
#include "engine/parallel/tensor/shares.hpp"
#include "engine/parallel/tensor/vocab_parallel_cross_entropy.hpp"
#include "tests/nccl/gpu_ranks.hpp"
#include "tests/tensor_parallel/block.hpp"

using namespace lockstep;
using namespace lockstep::test;
using namespace lockstep::test::block;

namespace {

void expect_near(const std::string& what, const Tensor& seen, const Tensor& expected,
                 double tolerance) {
  const Tensor here = to_host(seen);
  expect(here.shape() == expected.shape(), what + " has another shape");
  for (std::int64_t i = 0; i < here.numel(); ++i) {
    if (std::abs(here.item(i) - expected.item(i)) <= tolerance) continue;
    throw Error(text(what, ": element ", i, " is ", here.item(i), ", not ", expected.item(i)));
  }
}

Weights on_device(const Weights& weights, Device& device) {
  Weights there;
  for (const Tensor& weight : weights) there.push_back(to_device(weight, device));
  return there;
}

// A pass on this rank's GPU, whole or in slices, beside the processor's.
void check_block(GpuRank& self, bool slices) {
  const int rank = self.rank(), ranks = self.size();
  const Weights whole = whole_weights(self.host);
  const Tensor x = drawn({batch, tokens, width}, 1, self.host),
               grad = drawn({batch, tokens, width}, 2, self.host);
  const Pass expected = on_one_device(whole, x, grad);
  const auto mine = [&](const Tensor& all) {
    return slices ? columns_of_rank(all, rank, ranks) : all;
  };
  const Weights own = on_device(share_of(whole, rank, ranks), self.gpu);
  const Tensor x_there = to_device(mine(x), self.gpu), grad_there = to_device(mine(grad), self.gpu);
  RecordedGroup group(self.group);
  const Pass pass = slices ? in_slices(group, own, x_there, grad_there, Kept::slice)
                           : on_ranks(group, own, x_there, grad_there);
  expect_near("y", pass.y, mine(expected.y), 10 * near);
  expect_near("dx", pass.dx, mine(expected.dx), 200 * near);
  const Weights grads = share_of(expected.grads, rank, ranks);
  for (std::size_t name = 0; name < names; ++name) {
    expect_near(text("gradient ", name), pass.grads[name], grads[name], 200 * near);
  }
}

}  // namespace

TEST_CASE("nccl: a block on two GPUs of paper is the block of one processor, also in slices") {
  const bool slices = GENERATE(false, true);
  CHECK(failures(run_gpus(2, [&](GpuRank& self) -> std::string {
          check_block(self, slices);
          return "";
        })) == "");
}

TEST_CASE("nccl: the loss of a vocabulary on three GPUs of paper, the last of them padded") {
  CHECK(failures(run_gpus(3, [&](GpuRank& self) -> std::string {
          constexpr std::int64_t rows = 6, vocabulary = 41;
          const auto share = vocabulary_share(vocabulary, self.size(), self.rank());
          const Tensor logits = ops::scale(drawn({rows, vocabulary}, 1, self.host), 1e4);
          const std::vector<double> wanted_labels{0, 40, 13, 14, -100, 27};
          const Tensor wanted = from_values(wanted_labels, {rows}, DType::int64, self.host);
          const auto [loss, probabilities] = ops::cross_entropy(logits, wanted);
          const Tensor one = full({1}, 1, DType::float64, self.host);
          const Tensor grad = ops::cross_entropy_backward(one, probabilities, wanted);
          const auto held = [&](const Tensor& all, double padding) {
            const Tensor parts[] = {
                ops::narrow(all, 1, share.first, share.real),
                full({rows, share.held - share.real}, padding, DType::float64, self.host)};
            return ops::concatenate(parts, 1);
          };
          Tape tape(GradMode::record);
          const Value in = tape.input(
              to_device(held(logits, std::numeric_limits<double>::quiet_NaN()), self.gpu));
          const Value found = vocab_parallel_cross_entropy(tape, self.group, in,
                                                           to_device(wanted, self.gpu), vocabulary);
          tape.backward(found);
          expect_near("loss", found.tensor, loss, 1e-9);
          expect_near("gradient", tape.gradient_of(in), held(grad, 0), near);
          return "";
        })) == "");
}
