// The largest entries travel, and the rest later.
#include "engine/parallel/compress/top_k.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "engine/parallel/compress/entries.hpp"
#include "tests/compress/fixtures.hpp"
#include "tests/train/fiber_ranks.hpp"

using namespace lockstep;
using lockstep::test::any_ranks;
using lockstep::test::contains;
using lockstep::test::integers_of;
using lockstep::test::same_bits;
using lockstep::test::Values;

namespace {

// Several steps on all ranks: what came out of each, and what is left on each rank at the end.
struct Steps {
  std::vector<Values> results;    // by step, the same on every rank
  std::vector<Values> residuals;  // by rank
  std::int64_t sent = 0;          // bytes, by each rank
};

using Gives = std::function<Values(int rank, int step)>;

Steps run_steps(int ranks, int steps, double fraction, const Gives& gives) {
  Steps all{{}, std::vector<Values>(static_cast<std::size_t>(ranks))};
  test::on_fibers(ranks, [&](comm::ProcessGroup& group) {
    CpuDevice device;
    const Tensor residual = test::tensor_of(Values(gives(0, 0).size()), device);
    for (int step = 0; step < steps; ++step) {
      const Tensor gradient = test::tensor_of(gives(group.rank(), step), device);
      compress::top_k_reduce(group, gradient, residual, fraction).wait();
      const Values result = test::values_of(gradient);
      const auto at = static_cast<std::size_t>(step);
      if (all.results.size() <= at) all.results.push_back(result);
      LOCKSTEP_EXPECT(same_bits(result, all.results[at]));
    }
    all.residuals[static_cast<std::size_t>(group.rank())] = test::values_of(residual);
    if (group.rank() == 0) all.sent = group.traffic().bytes_sent;
  });
  return all;
}

// The same by a full sort, in the arithmetic of the contract.
Steps expected_steps(int ranks, int steps, double fraction, const Gives& gives) {
  const std::size_t count = gives(0, 0).size();
  Steps all{{}, std::vector<Values>(static_cast<std::size_t>(ranks), Values(count))};
  const auto share = static_cast<float>(1.0 / ranks);
  const auto wished = static_cast<std::size_t>(std::lround(fraction * static_cast<double>(count)));
  const std::size_t k = count == 0 ? 0 : std::max<std::size_t>(wished, 1);
  for (int step = 0; step < steps; ++step) {
    Values result(count);
    for (int r = 0; r < ranks; ++r) {
      Values& left = all.residuals[static_cast<std::size_t>(r)];
      const Values mine = gives(r, step);
      for (std::size_t i = 0; i < count; ++i) left[i] += mine[i];
      std::vector<std::size_t> order(count);
      std::iota(order.begin(), order.end(), 0U);
      std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return std::abs(left[a]) > std::abs(left[b]);
      });
      for (std::size_t j = 0; j < k; ++j) {
        result[order[j]] += left[order[j]] * share;
        left[order[j]] = 0;
      }
    }
    all.results.push_back(result);
  }
  return all;
}

}  // namespace

TEST_CASE("top-k: the largest entries travel with their signs, and the rest stays, bit for bit") {
  const int ranks = any_ranks();
  for (const std::int64_t count : test::sizes_for(ranks)) {
    for (const double fraction : {0.01, 0.3, 1.0}) {
      CAPTURE(ranks, count, fraction);
      const Gives gives = [&](int rank, int step) { return test::numbers_of(rank, count, step); };
      const Steps seen = run_steps(ranks, 3, fraction, gives);
      const Steps expected = expected_steps(ranks, 3, fraction, gives);
      for (std::size_t step = 0; step < 3; ++step) {
        CHECK(seen.results[step] == expected.results[step]);
      }
      CHECK(seen.residuals == expected.residuals);
    }
  }
}

TEST_CASE("top-k: over 50 steps, what was sent plus what is left is the sum of all gradients") {
  const int ranks = any_ranks();
  const std::int64_t count = 53;
  const Gives gives = [&](int rank, int step) { return integers_of(rank, count, step); };
  const Steps seen = run_steps(ranks, 50, 0.1, gives);
  // With 1/N a power of two every number here is an integer over N, so the sums are exact. Else
  // each of at most 13 shares a step is rounded by 2^-24, and so are the sums of at most
  // 13 · 50 · 50 = 32,500.
  const bool exact = std::has_single_bit(static_cast<unsigned>(ranks));
  const double tolerance = exact ? 0 : 32'500 * std::ldexp(64.0, -24);
  std::int64_t sent_nowhere = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    double balance = 0;
    for (const Values& result : seen.results) balance += static_cast<double>(result[i]) * ranks;
    if (balance == 0) ++sent_nowhere;
    for (const Values& left : seen.residuals) balance += static_cast<double>(left[i]);
    for (int r = 0; r < ranks; ++r) {
      for (int step = 0; step < 50; ++step) balance -= static_cast<double>(gives(r, step)[i]);
    }
    CAPTURE(ranks, i);
    CHECK(std::abs(balance) <= tolerance);
  }
  CHECK(sent_nowhere < 5);  // what is small for long travels all the same
}

TEST_CASE(
    "top-k: of equal magnitudes the lower places travel, and ranks that choose alike add up") {
  const Gives equals = [](int rank, int) { return Values{1, -1, 1, static_cast<float>(rank)}; };
  const Steps seen = run_steps(2, 1, 0.5, equals);
  CHECK(seen.results[0] == Values{1, -1, 0, 0});
  CHECK(seen.residuals[0] == Values{0, 0, 1, 0});
  CHECK(seen.residuals[1] == Values{0, 0, 1, 1});
}

TEST_CASE("top-k: NaN and infinity travel at once and leave nothing behind") {
  constexpr float inf = std::numeric_limits<float>::infinity();
  const Gives gives = [](int rank, int step) {
    if (step > 0 || rank == 1) return Values{1, 1, 1, 1};
    return Values{1, std::nanf(""), -inf, 2};
  };
  const Steps seen = run_steps(2, 2, 0.5, gives);
  CHECK(std::isnan(seen.results[0][1]));
  CHECK(seen.results[0][2] == -inf);
  for (const float value : seen.results[1]) CHECK(std::isfinite(value));
  for (const Values& left : seen.residuals) {
    for (const float value : left) CHECK(std::isfinite(value));
  }
}

TEST_CASE("top-k: bytes are (N-1) times k entries with their places") {
  const int ranks = any_ranks();
  for (const auto& [count, fraction, k] : std::vector<std::tuple<std::int64_t, double, int>>{
           {1000, 0.01, 10}, {1000, 0.29, 290}, {7, 0.01, 1}, {7, 1, 7}, {0, 0.5, 0}}) {
    CAPTURE(ranks, count, fraction);
    const Gives gives = [&, n = count](int rank, int step) { return integers_of(rank, n, step); };
    CHECK(run_steps(ranks, 1, fraction, gives).sent == (ranks - 1) * 8 * k);
  }
}

TEST_CASE("top-k: more is sent than by a ring as soon as k/n is above 1/N") {
  const std::int64_t count = 2600;
  const Gives gives = [&](int rank, int step) { return integers_of(rank, count, step); };
  const double ring = 2.0 * 12 / 13 * 4 * static_cast<double>(count);
  CHECK(static_cast<double>(run_steps(13, 1, 0.06, gives).sent) < ring);
  CHECK(static_cast<double>(run_steps(13, 1, 0.09, gives).sent) > ring);
}

TEST_CASE("top-k: how many entries a fraction is") {
  CHECK(compress::entries_of(100, 0.29) == 29);  // 0.29 · 100 is 28.999… in float64
  CHECK(compress::entries_of(100, 0.07) == 7);   // and 0.07 · 100 is 7.000…1
  CHECK(compress::entries_of(3, 1e-9) == 1);
  CHECK(compress::entries_of(3, 1) == 3);
  CHECK(compress::entries_of(0, 0.5) == 0);
  for (const double fraction : {0.0, -0.1, 1.5, 2.0, std::nan("")}) {
    CHECK_THROWS_WITH(compress::entries_of(10, fraction), contains("above 0 and up to 1"));
  }
}

TEST_CASE("top-k: ranks with different fractions are told which rank brings what") {
  const std::string message = test::error_on(3, [](comm::ProcessGroup& group) {
    CpuDevice device;
    const Tensor gradient = test::tensor_of(integers_of(group.rank(), 100), device);
    const Tensor residual = zeros({100}, DType::float32, device);
    compress::top_k_reduce(group, gradient, residual, group.rank() == 2 ? 0.2 : 0.1).wait();
  });
  CHECK_THAT(message,
             contains("all_gather") && contains("80") && contains("160") && contains("rank 2"));
}

TEST_CASE("top-k: a residual of another gradient and wrong types are refused, with rank and size") {
  const auto error_of = [](std::int64_t left, DType dtype) {
    return test::error_on(1, [&](comm::ProcessGroup& group) {
      CpuDevice device;
      compress::top_k_reduce(group, zeros({4}, dtype, device), zeros({left}, dtype, device), 0.5)
          .wait();
    });
  };
  CHECK_THAT(error_of(3, DType::float32),
             contains("a residual of 3 float32 for a gradient of 4 float32 on rank 0"));
  CHECK_THAT(error_of(4, DType::bfloat16), contains("a gradient of bfloat16 on rank 0"));
}

TEST_CASE("top-k: float64 travels as it is") {
  test::on_fibers(2, [](comm::ProcessGroup& group) {
    CpuDevice device;
    const Tensor gradient =
        from_values(std::vector<double>{1e-300, 3 + 1e-12, 2}, {3}, DType::float64, device);
    const Tensor residual = zeros({3}, DType::float64, device);
    compress::top_k_reduce(group, gradient, residual, 0.3).wait();
    LOCKSTEP_EXPECT(gradient.item(1) == 3 + 1e-12 && gradient.item(2) == 0);
    LOCKSTEP_EXPECT(residual.item(0) == 1e-300 && residual.item(2) == 2);
    LOCKSTEP_EXPECT(group.traffic().bytes_sent == 12);
  });
}
