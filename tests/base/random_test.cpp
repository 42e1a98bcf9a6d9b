#include <set>

#include "engine/base/error.hpp"
#include "engine/base/random.hpp"
#include "tests/catch.hpp"

using lockstep::random_permutation;
using Order = std::vector<std::int64_t>;

// Golden values: torch.randperm 1.13.1 on CPU.
TEST_CASE("random_permutation: equals torch.randperm for the recorded seeds") {
  CHECK(random_permutation(5, 0) == Order{4, 0, 1, 3, 2});
  CHECK(random_permutation(8, 0) == Order{4, 0, 7, 3, 2, 5, 1, 6});
  CHECK(random_permutation(10, 0) == Order{4, 1, 7, 5, 3, 9, 0, 8, 6, 2});
  CHECK(random_permutation(10, 1) == Order{5, 6, 1, 2, 0, 8, 9, 3, 7, 4});
  CHECK(random_permutation(12, 42) == Order{6, 8, 1, 7, 0, 2, 10, 11, 4, 3, 5, 9});
  CHECK(random_permutation(20, 123) ==
        Order{2, 9, 14, 15, 16, 7, 8, 5, 19, 0, 11, 18, 10, 17, 12, 6, 1, 13, 3, 4});
  CHECK(random_permutation(10, 2147483647) == Order{1, 9, 7, 4, 0, 5, 6, 8, 3, 2});
}

TEST_CASE("random_permutation: only the low 32 bits of the seed count") {
  CHECK(random_permutation(7, 0xffffffffULL) == Order{2, 1, 3, 6, 4, 5, 0});
  CHECK(random_permutation(7, 0x100000000ULL) == Order{4, 0, 5, 3, 2, 6, 1});
  CHECK(random_permutation(7, 0x100000000ULL) == random_permutation(7, 0));
}

TEST_CASE("random_permutation: empty and single orders, and a clear error for a negative length") {
  CHECK(random_permutation(0, 3).empty());
  CHECK(random_permutation(1, 3) == Order{0});
  CHECK_THROWS_AS(random_permutation(-1, 0), lockstep::ContractError);
}

TEST_CASE("random_bits: neighbours in seed and index give different numbers") {
  std::set<std::uint64_t> seen;
  for (std::uint64_t seed = 0; seed < 64; ++seed) {
    for (std::uint64_t index = 0; index < 256; ++index)
      seen.insert(lockstep::random_bits(seed, index));
  }
  CHECK(seen.size() == 64u * 256u);
}

TEST_CASE("random_uniform: fills the unit interval evenly") {
  double sum = 0;
  for (std::uint64_t i = 0; i < 100000; ++i) {
    const double value = lockstep::random_uniform(9, i);
    REQUIRE((value >= 0 && value < 1));
    sum += value;
  }
  // The mean of 1e5 uniforms has deviation 9.1e-4; five of them.
  CHECK(std::abs(sum / 100000 - 0.5) < 4.6e-3);
}
