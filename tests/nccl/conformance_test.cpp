// The conformance suite of comm on tensors of the GPU, in groups of one to five ranks and in groups
// split from them: values and shapes of all collectives, messages and splits.
#include "tests/comm/conformance.hpp"

#include "tests/catch.hpp"
#include "tests/nccl/gpu_ranks.hpp"

using namespace lockstep;
using namespace lockstep::comm;
using namespace lockstep::test;

namespace {

// All that the suite has; the ranks' bits of rounded sums are their messages.
std::string all_of_it(GpuRank& self) {
  check_collectives(self.group, self.gpu, all_dtypes, usual_counts(self.size()));
  check_messages_and_splits(self.group, self.gpu);
  return std::to_string(bits_of_sums(self.group, self.gpu));
}

// The types and the counts, but not crossed.
std::string short_suite(GpuRank& self) {
  const std::vector<DType> one{DType::float32};
  const std::vector<std::int64_t> few{self.size() + 1};
  check_collectives(self.group, self.gpu, one, usual_counts(self.size()));
  check_collectives(self.group, self.gpu, all_dtypes, few);
  check_messages_and_splits(self.group, self.gpu);
  return std::to_string(bits_of_sums(self.group, self.gpu));
}

void all_ranks_agree(int ranks, const GpuBody& body, const GpuRun& run = {}) {
  const auto outcomes = run_gpus(ranks, body, run);
  for (const Outcome& outcome : outcomes) {
    INFO(outcome.message);
    CHECK(outcome.ok);
    CHECK(outcome.message == outcomes.front().message);
  }
}

}  // namespace

// Also run by NVIDIA's library where a single GPU is: NCCL gives a GPU to one rank only.
TEST_CASE("nccl conformance: a group of one rank") { all_ranks_agree(1, all_of_it); }

TEST_CASE("nccl conformance: all collectives, types, operators, counts, messages and splits") {
  all_ranks_agree(GENERATE(2, 3, 4, 5), all_of_it);
}

TEST_CASE("nccl conformance: two groups at once, which do not keep in step") {
  all_ranks_agree(GENERATE(2, 3, 5), [](GpuRank& self) -> std::string {
    const auto half = self.group.split(self.rank() % 2, 0);
    check_collectives(*half, self.gpu, all_dtypes, usual_counts(half->size()));
    const auto reversed = self.group.split(0, -self.rank());
    check_collectives(*reversed, self.gpu, std::vector{DType::bfloat16}, usual_counts(self.size()));
    check_collectives(self.group, self.gpu, std::vector{DType::int64}, usual_counts(self.size()));
    return "";
  });
}

TEST_CASE("nccl conformance: other orders of streams, and blocks that are given out again") {
  const int seed = GENERATE(2, 3);
  GpuRun run{.paper = {text("seed=", seed)}};
  if (seed == 3) run.blocks = gpu::Blocks::kept;
  all_ranks_agree(3, short_suite, run);
}

TEST_CASE("nccl conformance: words over TCP") {
  all_ranks_agree(GENERATE(2, 3), short_suite, {.words = Transport::gloo});
}

TEST_CASE("nccl conformance: tensors of a million elements") {
  all_ranks_agree(3, [](GpuRank& self) -> std::string {
    check_large(self.group, self.gpu);
    return "";
  });
}

TEST_CASE("nccl conformance: the whole suite, in twenty orders of streams", "[.all]") {
  const int ranks = GENERATE(2, 3, 4, 5);
  for (int seed = 1; seed <= 20; ++seed) {
    const auto blocks = seed % 2 == 0 ? gpu::Blocks::kept : gpu::Blocks::chosen;
    INFO("seed " << seed);
    all_ranks_agree(ranks, all_of_it, {.paper = {text("seed=", seed)}, .blocks = blocks});
  }
}
