// Which gradients share an all-reduce.
#include <algorithm>

#include "engine/base/random.hpp"
#include "engine/parallel/horovod/tensor_fusion.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using horovod::fuse;
using horovod::FusionPlan;
using horovod::Ready;
using lockstep::test::contains;

namespace {

using Groups = std::vector<std::vector<std::size_t>>;

std::vector<Ready> of_bytes(const std::vector<std::int64_t>& sizes, DType dtype = DType::uint8) {
  std::vector<Ready> ready;
  for (const std::int64_t size : sizes) {
    ready.push_back({size / static_cast<std::int64_t>(bytes_of(dtype)), dtype});
  }
  return ready;
}

Groups groups_of(const std::vector<std::int64_t>& sizes, std::int64_t threshold) {
  return fuse(of_bytes(sizes), threshold).groups;
}

std::int64_t bytes_in(const std::vector<Ready>& ready, const std::vector<std::size_t>& group) {
  std::int64_t bytes = 0;
  for (const std::size_t i : group) {
    bytes += ready[i].count * static_cast<std::int64_t>(bytes_of(ready[i].dtype));
  }
  return bytes;
}

}  // namespace

TEST_CASE("tensor fusion: a group takes what fits, and never more than the threshold") {
  CHECK(groups_of({40, 30, 40, 30, 200, 20}, 100) == Groups{{0, 1}, {2, 3}, {4}, {5}});
  CHECK(groups_of({50, 50, 1}, 100) == Groups{{0, 1}, {2}});  // exactly full
  CHECK(groups_of({50, 51, 1}, 100) == Groups{{0}, {1, 2}});  // DDP's rule would give {0, 1}
  CHECK(groups_of({101, 1}, 100) == Groups{{0}, {1}});        // too large, alone
  CHECK(groups_of({1, 101}, 100) == Groups{{0}, {1}});
  CHECK(groups_of({}, 100).empty());
  CHECK(groups_of({7}, 100) == Groups{{0}});
  CHECK(groups_of({0, 0, 100, 0}, 100) == Groups{{0, 1, 2, 3}});  // empty ones always fit
}

TEST_CASE("tensor fusion: a threshold of 0 disables it") {
  CHECK(groups_of({4, 4, 4}, 0) == Groups{{0}, {1}, {2}});
  CHECK(groups_of({0, 0}, 0) == Groups{{0}, {1}});
}

TEST_CASE("tensor fusion: it looks past another dtype as far as the threshold goes") {
  const Ready wide{10, DType::float64};   // 80 bytes
  const Ready small{10, DType::float32};  // 40 bytes
  const std::vector<Ready> mixed{small, wide, small, wide};
  CHECK(fuse(mixed, 240).groups == Groups{{0, 2}, {1, 3}});
  // 40 + 80 passed over fit in 120. The next 40 make 80, and with another 80 passed over 240.
  CHECK(fuse(mixed, 120).groups == Groups{{0, 2}, {1}, {3}});
  CHECK(fuse(mixed, 160).groups == Groups{{0, 2}, {1, 3}});
  // 40 and 80 passed over are more than 119: the search ends there.
  CHECK(fuse(mixed, 119).groups == Groups{{0}, {1}, {2}, {3}});
}

TEST_CASE("tensor fusion: what does not fit is not overtaken by its own dtype") {
  CHECK(groups_of({60, 50, 10}, 100) == Groups{{0}, {1, 2}});
}

TEST_CASE("tensor fusion: of random lists each gradient is once, in order, with its own dtype") {
  const std::array dtypes{DType::float32, DType::float64, DType::bfloat16};
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    std::vector<Ready> ready;
    const auto drawn = [&](std::uint64_t i, double limit) {
      return static_cast<std::int64_t>(limit * random_uniform(seed, i));
    };
    const std::int64_t count = drawn(0, 40), threshold = drawn(1, 2000) + 1;
    const std::int64_t kinds = drawn(2, 3) + 1;
    for (std::int64_t i = 0; i < count; ++i) {
      const auto at = static_cast<std::uint64_t>(3 + 2 * i);
      ready.push_back(
          {drawn(at, 200),
           dtypes[static_cast<std::size_t>(drawn(at + 1, static_cast<double>(kinds)))]});
    }
    CAPTURE(seed, count, threshold);
    const FusionPlan plan = fuse(ready, threshold);
    std::vector<std::size_t> members, firsts;
    for (const auto& group : plan.groups) {
      REQUIRE(!group.empty());
      CHECK(std::ranges::is_sorted(group));
      firsts.push_back(group[0]);
      for (const std::size_t i : group) {
        members.push_back(i);
        CHECK(ready[i].dtype == ready[group[0]].dtype);
      }
      CHECK((group.size() == 1 || bytes_in(ready, group) <= threshold));
    }
    CHECK(std::ranges::is_sorted(firsts));
    std::ranges::sort(members);
    REQUIRE(std::ssize(members) == count);
    for (std::size_t i = 0; i < members.size(); ++i) CHECK(members[i] == i);
    if (kinds > 1) continue;
    // Of one dtype, no group could have taken the next gradient as well.
    for (std::size_t g = 0; g + 1 < plan.groups.size(); ++g) {
      auto longer = plan.groups[g];
      longer.push_back(plan.groups[g + 1][0]);
      CHECK(bytes_in(ready, longer) > threshold);
    }
  }
}

TEST_CASE("tensor fusion: negative figures are refused") {
  CHECK_THROWS_WITH(fuse({}, -1), contains("a threshold of -1 bytes"));
  const std::vector<Ready> ready{{-3, DType::float32}};
  CHECK_THROWS_WITH(fuse(ready, 10), contains("gradient 0 has -3 elements"));
}
