// What exams draw: a keyed hash of known values, and orders of which each has all places.
#include "grader/judge/keyed.hpp"

#include <algorithm>

#include "tests/catch.hpp"

using namespace lockstep::grader;

TEST_CASE("keyed: SipHash-2-4 as its authors publish it") {
  CHECK(keyed_hash(0x0706050403020100, 0x0f0e0d0c0b0a0908, 0x0706050403020100) ==
        0x93f5f5799a932462);
}

TEST_CASE("keyed: numbers from 0 to 1, and another order for each key") {
  double least = 1, most = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    least = std::min(least, keyed_uniform(7, i));
    most = std::max(most, keyed_uniform(7, i));
  }
  CHECK(least >= 0);
  CHECK(least < 0.01);
  CHECK(most > 0.99);
  CHECK(most < 1);

  auto order = keyed_order(20, 7);
  CHECK(order == keyed_order(20, 7));
  CHECK(order != keyed_order(20, 8));
  std::ranges::sort(order);
  for (std::int64_t i = 0; i < 20; ++i) CHECK(order[static_cast<std::size_t>(i)] == i);
  CHECK(keyed_order(0, 7).empty());
}
