// A random choice of entries travels, the same on every rank.
#include "engine/parallel/compress/random_k.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "engine/parallel/compress/compression.hpp"
#include "engine/parallel/compress/entries.hpp"
#include "tests/compress/fixtures.hpp"
#include "tests/train/fiber_ranks.hpp"

using namespace lockstep;
using lockstep::test::any_ranks;
using lockstep::test::contains;
using lockstep::test::integers_of;
using lockstep::test::reduced;
using lockstep::test::Values;

namespace {

test::Reduce choose(std::int64_t k, std::uint64_t seed) {
  return [=](comm::ProcessGroup& group, const Tensor& data) {
    compress::random_k_reduce(group, data, k, seed).wait();
  };
}

}  // namespace

TEST_CASE("random-k: the places are k different ones in order, and each choice is equally likely") {
  for (const auto& [count, k] : {std::pair{0, 0}, {1, 1}, {9, 1}, {9, 8}, {9, 9}, {1000, 37}}) {
    const auto places = compress::random_entries(count, k, 5);
    CAPTURE(count, k);
    CHECK(std::ssize(places) == k);
    CHECK(std::ranges::is_sorted(places));
    CHECK(std::set(places.begin(), places.end()).size() == places.size());
    CHECK(std::ranges::all_of(places, [n = count](auto i) { return i >= 0 && i < n; }));
  }
  std::map<std::vector<std::int64_t>, int> seen;
  constexpr int draws = 20'000;
  for (int seed = 0; seed < draws; ++seed) {
    ++seen[compress::random_entries(5, 2, static_cast<std::uint64_t>(seed))];
  }
  CHECK(seen.size() == 10);  // 5 over 2
  // Each comes draws/10 times, give or take 5σ of a binomial distribution.
  const double sigma = std::sqrt(draws * 0.1 * 0.9);
  for (const auto& [places, times] : seen) CHECK(std::abs(times - draws / 10) < 5 * sigma);
}

TEST_CASE("random-k: n/k times the mean at the places of the seed, and zero elsewhere") {
  const int ranks = any_ranks();
  for (const std::int64_t count : test::sizes_for(ranks)) {
    if (count == 0) continue;
    const std::int64_t k = std::max<std::int64_t>(1, count / 3);
    CAPTURE(ranks, count, k);
    const auto brings = [&](int rank) { return test::numbers_of(rank, count); };
    const auto run = reduced(ranks, brings, choose(k, 77));
    Values expected(static_cast<std::size_t>(count));
    const auto factor =
        static_cast<float>(static_cast<double>(count) / static_cast<double>(k) / ranks);
    for (const std::int64_t place : compress::random_entries(count, k, 77)) {
      const auto i = static_cast<std::size_t>(place);
      for (int r = 0; r < ranks; ++r) expected[i] += brings(r)[i] * factor;
    }
    CHECK(run.values == expected);
    for (const std::int64_t sent : run.sent) CHECK(sent == 2 * (ranks - 1) * 4 * k / ranks);
  }
}

TEST_CASE("random-k: nothing travels of nothing") {
  const auto run = reduced(
      3, [](int) { return Values{}; }, choose(0, 1));
  CHECK(run.values.empty());
  CHECK(run.sent == std::vector<std::int64_t>{0, 0, 0});
}

TEST_CASE("random-k: the mean over 2000 seeds is the mean over the ranks") {
  constexpr int ranks = 3, count = 10, k = 3, seeds = 2000;
  const auto brings = [](int rank) { return integers_of(rank, count); };
  std::vector<double> total(count);
  test::on_fibers(ranks, [&](comm::ProcessGroup& group) {
    CpuDevice device;
    for (int seed = 0; seed < seeds; ++seed) {
      const Tensor data = test::tensor_of(brings(group.rank()), device);
      compress::random_k_reduce(group, data, k, static_cast<std::uint64_t>(seed)).wait();
      if (group.rank() != 0) continue;
      for (std::size_t i = 0; i < count; ++i) total[i] += data.item(static_cast<std::int64_t>(i));
    }
  });
  for (std::size_t i = 0; i < count; ++i) {
    double mean = 0;
    for (int r = 0; r < ranks; ++r) mean += static_cast<double>(brings(r)[i]) / ranks;
    // It is mean · n/k with probability k/n: a deviation of |mean| · √(n/k - 1) for one seed.
    const double sigma = std::abs(mean) * std::sqrt((10.0 / 3 - 1) / seeds);
    CAPTURE(i, mean, total[i] / seeds);
    CHECK(std::abs(total[i] / seeds - mean) < 4 * sigma);
  }
}

TEST_CASE("random-k: every pass and every bucket has places of its own, the same on every rank") {
  const auto hook_runs = [](std::uint64_t seed) {
    std::vector<Values> results;
    test::on_fibers(2, [&](comm::ProcessGroup& group) {
      CpuDevice device;
      const auto hook = compress::make_hook(compress::compression_of("randomk:0.2"), seed);
      for (int pass = 0; pass < 2; ++pass) {
        for (std::size_t index = 0; index < 2; ++index) {
          const Tensor flat = test::tensor_of(Values(100, 1.0F), device);
          auto bucket = test::bucket_of(flat, {{100}}, index);
          bucket.last = index == 1;
          hook->start(group, bucket).wait();
          if (group.rank() == 0) results.push_back(test::values_of(flat));
        }
      }
    });
    return results;
  };
  const auto results = hook_runs(3);
  for (std::size_t i = 0; i < results.size(); ++i) {
    CHECK(std::ranges::count(results[i], 5.0F) == 20);
    for (std::size_t j = 0; j < i; ++j) CHECK(results[i] != results[j]);
  }
  CHECK(hook_runs(3) == results);
  CHECK(hook_runs(4) != results);
}

TEST_CASE(
    "random-k: other numbers of entries than there are, or than the peers bring, are refused") {
  const auto error_of = [](std::int64_t k) {
    return test::error_on(2, [&](comm::ProcessGroup& group) {
      CpuDevice device;
      const Tensor data = test::tensor_of(Values(4, 1.0F), device);
      compress::random_k_reduce(group, data, group.rank() == 0 ? k : 2, 1).wait();
    });
  };
  CHECK_THAT(error_of(5), contains("5 entries of a gradient of 4 on rank 0"));
  CHECK_THAT(error_of(0), contains("0 entries of a gradient of 4 on rank 0"));
  CHECK_THAT(error_of(3), contains("all_reduce") && contains("rank 0") && contains("rank 1"));
}
