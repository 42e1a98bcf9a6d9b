// The golden lists were printed by torch.utils.data.distributed.DistributedSampler and
// torch.randperm of PyTorch 1.13.1.
#include "engine/data/distributed_sampler.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "engine/base/error.hpp"
#include "engine/base/random.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::data;
using lockstep::test::contains;

namespace {

using Lists = std::vector<std::vector<std::int64_t>>;

// The lists of all ranks.
Lists all_ranks(SamplerOptions options) {
  Lists lists;
  for (options.rank = 0; options.rank < options.ranks; ++options.rank) {
    lists.push_back(distributed_indices(options));
  }
  return lists;
}

SamplerOptions sequential(std::int64_t length, int ranks, Tail tail) {
  return {length, 0, ranks, 0, 0, Order::sequential, tail};
}
SamplerOptions shuffled(std::int64_t length, int ranks, std::uint64_t seed, int epoch, Tail tail) {
  return {length, 0, ranks, seed, epoch, Order::shuffled, tail};
}

}  // namespace

TEST_CASE("sampler: sequential lists are PyTorch's") {
  CHECK(all_ranks(sequential(10, 4, Tail::pad)) ==
        Lists{{0, 4, 8}, {1, 5, 9}, {2, 6, 0}, {3, 7, 1}});
  CHECK(all_ranks(sequential(10, 4, Tail::drop)) == Lists{{0, 4}, {1, 5}, {2, 6}, {3, 7}});
  CHECK(all_ranks(sequential(11, 4, Tail::drop)) == Lists{{0, 4}, {1, 5}, {2, 6}, {3, 7}});
  CHECK(all_ranks(sequential(3, 8, Tail::pad)) == Lists{{0}, {1}, {2}, {0}, {1}, {2}, {0}, {1}});
  CHECK(all_ranks(sequential(3, 8, Tail::drop)) == Lists(8));
  CHECK(all_ranks(sequential(1, 4, Tail::pad)) == Lists{{0}, {0}, {0}, {0}});
}

TEST_CASE("sampler: shuffled lists are PyTorch's, and the epoch adds to the seed") {
  CHECK(all_ranks(shuffled(10, 4, 0, 0, Tail::pad)) ==
        Lists{{4, 3, 6}, {1, 9, 2}, {7, 0, 4}, {5, 8, 1}});
  CHECK(all_ranks(shuffled(10, 4, 0, 1, Tail::pad)) ==
        Lists{{5, 0, 7}, {6, 8, 4}, {1, 9, 5}, {2, 3, 6}});
  CHECK(all_ranks(shuffled(10, 4, 0, 0, Tail::drop)) == Lists{{4, 3}, {1, 9}, {7, 0}, {5, 8}});
  CHECK(all_ranks(shuffled(8, 4, 0, 0, Tail::drop)) == Lists{{4, 2}, {0, 5}, {7, 1}, {3, 6}});
  CHECK(all_ranks(shuffled(10, 3, 5, 2, Tail::pad)) ==
        Lists{{5, 4, 9, 2}, {0, 1, 6, 5}, {3, 7, 8, 0}});
  CHECK(all_ranks(shuffled(10, 3, 7, 0, Tail::pad)) == all_ranks(shuffled(10, 3, 5, 2, Tail::pad)));
}

TEST_CASE("sampler: one rank reads torch.randperm itself") {
  auto one = [](std::int64_t length, std::uint64_t seed) {
    return distributed_indices(shuffled(length, 1, seed, 0, Tail::pad));
  };
  using List = std::vector<std::int64_t>;
  CHECK(one(5, 0) == List{4, 0, 1, 3, 2});
  CHECK(one(8, 0) == List{4, 0, 7, 3, 2, 5, 1, 6});
  CHECK(one(10, 0) == List{4, 1, 7, 5, 3, 9, 0, 8, 6, 2});
  CHECK(one(10, 1) == List{5, 6, 1, 2, 0, 8, 9, 3, 7, 4});
  CHECK(one(10, 2) == List{8, 7, 1, 5, 6, 9, 0, 4, 2, 3});
  CHECK(one(12, 42) == List{6, 8, 1, 7, 0, 2, 10, 11, 4, 3, 5, 9});
  CHECK(one(16, 42) == List{6, 3, 0, 7, 10, 15, 2, 12, 14, 9, 8, 5, 4, 13, 11, 1});
  CHECK(one(20, 123) == List{2, 9, 14, 15, 16, 7, 8, 5, 19, 0, 11, 18, 10, 17, 12, 6, 1, 13, 3, 4});
  CHECK(one(7, 0xffffffffULL) == List{2, 1, 3, 6, 4, 5, 0});
  CHECK(one(7, 0x100000000ULL) == List{4, 0, 5, 3, 2, 6, 1});
  CHECK(one(10, 0x7fffffffULL) == List{1, 9, 7, 4, 0, 5, 6, 8, 3, 2});
}

TEST_CASE("sampler: padded, the ranks read every sample, and exactly the missing ones twice") {
  for (const int ranks : {1, 2, 3, 4, 5, 7, 8}) {
    for (const std::int64_t length : {0, 1, 2, 7, 13, 64, 100}) {
      for (const Order order : {Order::shuffled, Order::sequential}) {
        CAPTURE(ranks, length, static_cast<int>(order));
        const Lists lists = all_ranks({length, 0, ranks, 9, 3, order, Tail::pad});
        std::map<std::int64_t, std::int64_t> reads;
        for (const auto& list : lists) {
          CHECK(list.size() == lists[0].size());
          for (const std::int64_t index : list) ++reads[index];
        }
        const std::int64_t pad = (ranks - length % ranks) % ranks;
        std::int64_t repeats = 0;
        for (const auto& [index, count] : reads) {
          CHECK((index >= 0 && index < length));
          repeats += count - 1;
        }
        CHECK(std::ssize(reads) == length);
        CHECK(repeats == (length == 0 ? 0 : pad));
      }
    }
  }
}

TEST_CASE("sampler: dropped, the ranks read equally many different samples") {
  for (const int ranks : {1, 2, 3, 4, 5, 7, 8}) {
    for (const std::int64_t length : {0, 1, 7, 13, 64, 100}) {
      CAPTURE(ranks, length);
      const Lists lists = all_ranks(shuffled(length, ranks, 4, 0, Tail::drop));
      std::set<std::int64_t> seen;
      for (const auto& list : lists) {
        CHECK(std::ssize(list) == length / ranks);
        seen.insert(list.begin(), list.end());
      }
      CHECK(std::ssize(seen) == length / ranks * ranks);
    }
  }
}

TEST_CASE("sampler: a step's samples are one set, however many ranks share it") {
  // The first 24 places of the order: 1 rank × 24, 2 × 12, 4 × 6, 8 × 3.
  const auto order = random_permutation(240, 5);
  const std::set<std::int64_t> want(order.begin(), order.begin() + 24);
  for (const int ranks : {1, 2, 4, 8}) {
    std::set<std::int64_t> got;
    for (const auto& list : all_ranks(shuffled(240, ranks, 5, 0, Tail::pad))) {
      got.insert(list.begin(), list.begin() + 24 / ranks);
    }
    CHECK(got == want);
  }
}

TEST_CASE("sampler: a rank outside the group, or a negative length or epoch, is refused") {
  CHECK_THROWS_AS(distributed_indices({10, 4, 4}), ContractError);
  CHECK_THROWS_WITH(distributed_indices({10, 4, 4}), contains("rank 4 of 4 ranks"));
  CHECK_THROWS_AS(distributed_indices({10, -1, 4}), ContractError);
  CHECK_THROWS_AS(distributed_indices({10, 0, 0}), ContractError);
  CHECK_THROWS_AS(distributed_indices({-1, 0, 1}), ContractError);
  CHECK_THROWS_AS(distributed_indices({10, 0, 1, 0, -1}), ContractError);
}
