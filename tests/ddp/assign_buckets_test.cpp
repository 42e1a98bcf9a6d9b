// Cases of PyTorch's own tests (test_c10d_common.py) and of its behaviour, version 1.13.1.
#include "engine/parallel/ddp/assign_buckets.hpp"

#include <algorithm>
#include <set>

#include "engine/base/error.hpp"
#include "engine/base/random.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using ddp::assign_buckets;
using ddp::BucketLimits;
using ddp::ParamInfo;
using Buckets = std::vector<std::vector<std::size_t>>;

namespace {

constexpr std::int64_t mib = std::int64_t{1} << 20;

std::vector<ParamInfo> floats(const std::vector<std::int64_t>& counts) {
  std::vector<ParamInfo> infos;
  for (const std::int64_t count : counts) infos.push_back({count, DType::float32});
  return infos;
}

// float32 × 50 and float64 × 25 in turn, three of each: 200 bytes each.
std::vector<ParamInfo> mixed() {
  std::vector<ParamInfo> infos;
  for (int i = 0; i < 3; ++i) {
    infos.push_back({50, DType::float32});
    infos.push_back({25, DType::float64});
  }
  return infos;
}

Buckets buckets_of(const std::vector<ParamInfo>& infos, std::int64_t first, std::int64_t cap) {
  return assign_buckets(infos, {first, cap}).buckets;
}

}  // namespace

TEST_CASE("assign buckets: PyTorch's cases of one type and of two") {
  CHECK(buckets_of(floats({100, 200, 100, 50}), 400, 400) == Buckets{{0}, {1}, {2}, {3}});
  CHECK(buckets_of(mixed(), 400, 400) == Buckets{{0, 2}, {1, 3}, {4}, {5}});
  CHECK(buckets_of(floats({10, 10, 10, 10}), 40, 80) == Buckets{{0}, {1, 2}, {3}});
  CHECK(buckets_of(mixed(), 200, 400) == Buckets{{0}, {1}, {2, 4}, {3, 5}});
}

TEST_CASE("assign buckets: ten layers of 4 MiB, as registered and as gradients come") {
  std::vector<ParamInfo> layers;
  for (int i = 0; i < 10; ++i) {
    layers.push_back({1024 * 1024, DType::float32});
    layers.push_back({1024, DType::float32});
  }
  Buckets registered{{0}, {}, {}};
  for (std::size_t i = 1; i < 15; ++i) registered[1].push_back(i);
  for (std::size_t i = 15; i < 20; ++i) registered[2].push_back(i);
  CHECK(buckets_of(layers, mib, 25 * mib) == registered);

  // 19 is the first to come: place k of the list is parameter 19 - k.
  std::ranges::reverse(layers);
  Buckets ready = buckets_of(layers, mib, 25 * mib);
  for (auto& bucket : ready) {
    for (std::size_t& place : bucket) place = 19 - place;
  }
  Buckets expected{{19, 18}, {}, {3, 2, 1, 0}};
  for (std::size_t i = 17; i > 3; --i) expected[1].push_back(i);
  CHECK(ready == expected);
}

TEST_CASE("assign buckets: a limit closes a bucket and does not bound it") {
  // 100 MiB into a bucket of 25 MiB that holds something already; the next one is empty again.
  CHECK(buckets_of(floats({10, 25 * mib, 10}), 0, 25 * mib) == Buckets{{0}, {1}, {2}});
  CHECK(buckets_of(floats({10, 25 * mib, 10}), 41, 25 * mib) == Buckets{{0, 1}, {2}});
  CHECK(buckets_of(floats({10, 10}), 80, 80) == Buckets{{0, 1}});
  CHECK(buckets_of(floats({10, 10}), 81, 81) == Buckets{{0, 1}});
  CHECK(buckets_of(floats({10, 10}), 79, 79) == Buckets{{0, 1}});
}

TEST_CASE("assign buckets: no parameters make no buckets, and sizes are bytes of the type") {
  CHECK(buckets_of({}, mib, mib).empty());
  CHECK(buckets_of({{0, DType::float32}}, mib, mib) == Buckets{{0}});
  const std::vector<ParamInfo> halves(4, {10, DType::bfloat16});
  CHECK(buckets_of(halves, 40, 40) == Buckets{{0, 1}, {2, 3}});
  const std::vector<ParamInfo> doubles(4, {10, DType::float64});
  CHECK(buckets_of(doubles, 40, 160) == Buckets{{0}, {1, 2}, {3}});
}

TEST_CASE("assign buckets: devices and types never share a bucket, and each has a first limit") {
  const std::vector<ParamInfo> infos{{10, DType::float32, 0}, {10, DType::float32, 1},
                                     {10, DType::float32, 0}, {10, DType::float32, 1},
                                     {10, DType::int32, 1},   {10, DType::float32, 0}};
  CHECK(buckets_of(infos, 40, 80) == Buckets{{0}, {1}, {4}, {2, 5}, {3}});
}

TEST_CASE("assign buckets: each parameter once, one kind a bucket, whatever the sizes") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    std::vector<ParamInfo> infos;
    auto drawn = [seed, k = std::uint64_t{0}](double below) mutable {
      return static_cast<std::int64_t>(random_uniform(seed, k++) * below);
    };
    for (std::int64_t left = drawn(30); left > 0; --left) {
      infos.push_back({drawn(100), drawn(2) == 0 ? DType::float32 : DType::float64,
                       static_cast<int>(drawn(2))});
    }
    const BucketLimits limits{drawn(500), drawn(2000)};
    std::set<std::size_t> seen;
    for (const auto& bucket : assign_buckets(infos, limits).buckets) {
      REQUIRE_FALSE(bucket.empty());
      CHECK(std::ranges::is_sorted(bucket));
      std::int64_t before_last = 0;
      for (const std::size_t i : bucket) {
        CHECK(seen.insert(i).second);
        CHECK(infos[i].dtype == infos[bucket.front()].dtype);
        CHECK(infos[i].device == infos[bucket.front()].device);
        if (i != bucket.back()) {
          before_last += infos[i].count * static_cast<std::int64_t>(bytes_of(infos[i].dtype));
        }
      }
      if (bucket.size() > 1) CHECK(before_last < std::max(limits.first_bytes, limits.cap_bytes));
    }
    CHECK(seen.size() == infos.size());
  }
}

TEST_CASE("assign buckets: negative limits and counts are refused") {
  CHECK_THROWS_AS(buckets_of(floats({1}), -1, 4), ContractError);
  CHECK_THROWS_AS(buckets_of(floats({1}), 4, -1), ContractError);
  CHECK_THROWS_AS(buckets_of(floats({-1}), 4, 4), ContractError);
}

TEST_CASE("bucket plan: prints as a list of lists") {
  CHECK(text_of(collectives::BucketPlan{{{3, 2}, {1, 0}}}) == "[[3, 2], [1, 0]]");
  CHECK(text_of(collectives::BucketPlan{}) == "[]");
}
