// Gradients that travel in 16 bits.
#include "engine/parallel/compress/cast.hpp"

#include <cmath>
#include <limits>

#include "engine/collectives/all_reduce_choice.hpp"
#include "engine/comm/worlds/sim/sim_group.hpp"
#include "engine/parallel/compress/mean.hpp"
#include "engine/sim/hosts/fiber_host.hpp"
#include "tests/compress/fixtures.hpp"
#include "tests/train/fiber_ranks.hpp"

using namespace lockstep;
using lockstep::test::any_ranks;
using lockstep::test::contains;
using lockstep::test::integers_of;
using lockstep::test::reduced;
using lockstep::test::same_bits;
using lockstep::test::Values;

namespace {

test::Reduce cast_to(DType half) {
  return [half](comm::ProcessGroup& group, const Tensor& data) {
    compress::cast_reduce(group, data, half).wait();
  };
}

// What travels: a share, rounded once; then a rounding at each addition, in the order of ranks.
template <typename Half>
Values expected_mean(int ranks, const test::Brings& brings) {
  const auto share = static_cast<float>(1.0 / ranks);
  std::vector<Half> sum;
  for (int r = 0; r < ranks; ++r) {
    const Values mine = brings(r);
    sum.resize(mine.size(), Half(0.0F));
    for (std::size_t i = 0; i < mine.size(); ++i) {
      const Half travels(mine[i] * share);
      sum[i] = r == 0 ? travels : Half(static_cast<float>(sum[i]) + static_cast<float>(travels));
    }
  }
  return {sum.begin(), sum.end()};
}

}  // namespace

TEST_CASE("cast: the mean is rounded once a share and once an addition, the same on every rank") {
  const int ranks = any_ranks();
  for (const std::int64_t count : test::sizes_for(ranks)) {
    CAPTURE(ranks, count);
    const auto brings = [&](int rank) { return test::numbers_of(rank, count); };
    CHECK(same_bits(reduced(ranks, brings, cast_to(DType::float16)).values,
                    expected_mean<Float16>(ranks, brings)));
    CHECK(same_bits(reduced(ranks, brings, cast_to(DType::bfloat16)).values,
                    expected_mean<BFloat16>(ranks, brings)));
  }
}

TEST_CASE("cast: integers whose shares and sums fit 16 bits come out exactly") {
  const int ranks = GENERATE(1, 2, 4, 8);
  const auto brings = [](int rank) {
    Values values = integers_of(rank, 101);
    for (float& value : values) value *= 8;  // so that an eighth is an integer
    return values;
  };
  Values mean(101);
  for (int r = 0; r < ranks; ++r) {
    const Values mine = brings(r);
    for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += mine[i] / static_cast<float>(ranks);
  }
  // At most 8 · 50 = 400, which float16 holds with its 11 bits.
  CHECK(reduced(ranks, brings, cast_to(DType::float16)).values == mean);
}

TEST_CASE("cast: what fits as a mean does not overflow on the way") {
  const auto brings = [](int) { return Values{60'000, -60'000}; };
  CHECK(reduced(2, brings, cast_to(DType::float16)).values == Values{60'000, -60'000});
  const auto one = [](int rank) { return Values{rank == 0 ? 60'000.0F : 0}; };
  CHECK(reduced(2, one, cast_to(DType::float16)).values == Values{30'000});
  // The share of 100,352 fits, too, though the value itself does not.
  const auto more = [](int rank) { return Values{rank == 0 ? 100'352.0F : 0}; };
  CHECK(reduced(2, more, cast_to(DType::float16)).values == Values{50'176});
}

TEST_CASE("cast: NaN and infinity are kept, and what no half holds is infinite") {
  constexpr float inf = std::numeric_limits<float>::infinity();
  const auto brings = [](int rank) {
    return rank == 1 ? Values{std::nanf(""), inf, -inf, 1e6F} : Values{1, 2, 3, 1e6F};
  };
  const Values in_16 = reduced(3, brings, cast_to(DType::float16)).values;
  CHECK(std::isnan(in_16[0]));
  CHECK(in_16[1] == inf);
  CHECK(in_16[2] == -inf);
  CHECK(in_16[3] == inf);
  const Values in_bf16 = reduced(3, brings, cast_to(DType::bfloat16)).values;
  CHECK(std::isnan(in_bf16[0]));
  CHECK(in_bf16[1] == inf);
  CHECK(std::isfinite(in_bf16[3]));
}

TEST_CASE("cast: half the bytes of the plain mean travel, as modelled and as counted in messages") {
  const int ranks = any_ranks();
  const std::int64_t count = 60 * ranks;
  const auto brings = [&](int rank) { return integers_of(rank, count); };
  const auto plain = reduced(ranks, brings, [](comm::ProcessGroup& group, const Tensor& data) {
    compress::mean_reduce(group, data).wait();
  });
  const auto cast = reduced(ranks, brings, cast_to(DType::float16));
  // A ring of messages, each of which is counted.
  std::vector<std::int64_t> counted(static_cast<std::size_t>(ranks));
  sim::Options options;
  options.ranks = ranks;
  sim::Core core(options);
  const auto result = sim::run_fibers(core, [&](sim::FiberRank& self) {
    CpuDevice device;
    const auto inner = comm::make_sim_group(self.port, self.rank, self.ranks);
    const auto ring =
        collectives::with_all_reduce(*inner, collectives::AllReduce::ring, self.strands, 0);
    compress::cast_reduce(*ring, test::tensor_of(brings(self.rank), device), DType::float16).wait();
    counted[static_cast<std::size_t>(self.rank)] = ring->traffic().bytes_sent;
  });
  CHECK_FALSE(result.finding);
  for (std::size_t r = 0; r < counted.size(); ++r) {
    const std::int64_t formula = 2 * (ranks - 1) * 60 * 2;  // 2(N-1)/N · 2 bytes an element
    CHECK(cast.sent[r] == formula);
    CHECK(plain.sent[r] == 2 * formula);
    CHECK(counted[r] == formula);
  }
}

TEST_CASE("cast: the all-reduce is in flight when the function returns, and the rest is in wait") {
  test::on_fibers(3, [](comm::ProcessGroup& group) {
    CpuDevice device;  // takes no time of the simulated rank, so only messages do
    const Tensor data = test::tensor_of(integers_of(group.rank(), 10'000), device);
    const double began = group.now_s();
    comm::Work work = compress::cast_reduce(group, data, DType::bfloat16);
    LOCKSTEP_EXPECT(group.now_s() == began);
    LOCKSTEP_EXPECT(!work.complete());
    work.wait();
    LOCKSTEP_EXPECT(group.now_s() > began);
    LOCKSTEP_EXPECT(work.ran_s().value_or(0) > 0);
  });
}

TEST_CASE("cast: types that make no sense are refused, with rank and type") {
  CHECK_THAT(test::error_on(2,
                            [](comm::ProcessGroup& group) {
                              CpuDevice device;
                              const Tensor data = test::tensor_of({1}, device);
                              compress::cast_reduce(group, data, DType::float32).wait();
                            }),
             contains("float32 has no 16 bits; pass float16 or bfloat16"));
  CHECK_THAT(test::error_on(1,
                            [](comm::ProcessGroup& group) {
                              CpuDevice device;
                              const Tensor data = zeros({3}, DType::int32, device);
                              compress::cast_reduce(group, data, DType::float16).wait();
                            }),
             contains("a bucket of int32 on rank 0"));
}
