// Bounded staleness: who may start, for every small list of clocks, and that not all wait.
#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "engine/base/error.hpp"
#include "engine/parallel/async_sgd/bounded_staleness.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using async_sgd::may_start;
using async_sgd::unbounded;

TEST_CASE("may_start: the example of the header") {
  const std::array<std::int64_t, 3> clocks{7, 5, 9};
  const std::array<bool, 3> finished{};
  CHECK(may_start(clocks, finished, 2, 4));
  CHECK_FALSE(may_start(clocks, finished, 2, 3));
  CHECK(may_start(clocks, finished, 0, 2));
  CHECK_FALSE(may_start(clocks, finished, 0, 1));
  CHECK(may_start(clocks, finished, 1, 0));
}

TEST_CASE("may_start: a worker that has finished is waited for by nobody") {
  const std::array<std::int64_t, 3> clocks{7, 5, 9};
  const std::array<bool, 3> without_the_slowest{false, true, false};
  CHECK(may_start(clocks, without_the_slowest, 2, 2));
  CHECK_FALSE(may_start(clocks, without_the_slowest, 2, 1));
  const std::array<bool, 3> alone{true, true, false};
  CHECK(may_start(clocks, alone, 2, 0));
}

TEST_CASE("may_start: without a bound nobody waits, however far ahead") {
  const std::array<std::int64_t, 2> clocks{0, std::int64_t{1} << 62};
  const std::array<bool, 2> finished{};
  CHECK(may_start(clocks, finished, 1, unbounded));
  CHECK_FALSE(may_start(clocks, finished, 1, (std::int64_t{1} << 62) - 1));
}

TEST_CASE("may_start: with every bound, runs of 1 to 8 and 13 workers end, and stay within it") {
  for (const std::size_t workers : {1, 2, 3, 4, 5, 7, 8, 13}) {
    for (const std::int64_t bound : {0, 1, 2, 5}) {
      std::vector<std::int64_t> clocks(workers);
      const auto finished = std::make_unique<bool[]>(workers);
      const std::span<const bool> done(finished.get(), workers);
      std::uint64_t drawn = workers * 31 + static_cast<std::uint64_t>(bound);
      std::int64_t widest = 0;
      std::size_t active = workers;
      while (active > 0) {
        std::vector<std::size_t> free;
        for (std::size_t w = 0; w < workers; ++w) {
          if (!done[w] && may_start(clocks, done, static_cast<int>(w), bound)) free.push_back(w);
        }
        CAPTURE(workers, bound);
        REQUIRE(!free.empty());
        drawn = drawn * 6364136223846793005ULL + 1442695040888963407ULL;
        std::size_t next = free[(drawn >> 33) % free.size()];
        // At first whoever is ahead runs on, so that the bound is reached.
        if (widest <= bound) {
          next = *std::ranges::max_element(
              free, [&](std::size_t a, std::size_t b) { return clocks[a] < clocks[b]; });
        }
        // Worker w takes 10 + w steps, so that they finish one after the other.
        if (++clocks[next] == 10 + static_cast<std::int64_t>(next)) {
          finished[next] = true;
          --active;
        }
        std::int64_t least = clocks[next];
        for (std::size_t w = 0; w < workers; ++w) {
          if (!done[w]) least = std::min(least, clocks[w]);
        }
        if (!done[next]) widest = std::max(widest, clocks[next] - least);
      }
      CHECK(widest <= bound + 1);  // the step that it may start, finished
      CHECK((workers == 1 ? widest == 0 : widest == bound + 1));
    }
  }
}

TEST_CASE("may_start: what makes no sense is refused with both numbers") {
  const std::array<std::int64_t, 2> clocks{3, 4};
  const std::array<bool, 2> finished{false, true};
  const std::array<bool, 1> too_few{};
  CHECK_THROWS_AS(may_start(clocks, finished, 0, -1), ContractError);
  CHECK_THROWS_AS(may_start(clocks, finished, 1, 0), ContractError);
  CHECK_THROWS_AS(may_start(clocks, finished, 2, 0), ContractError);
  CHECK_THROWS_AS(may_start(clocks, finished, -1, 0), ContractError);
  CHECK_THROWS_AS(may_start(clocks, too_few, 0, 0), ContractError);
  const std::array<std::int64_t, 2> negative{3, -1};
  CHECK_THROWS_AS(may_start(negative, finished, 0, 0), ContractError);
}
