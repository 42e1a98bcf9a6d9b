#include "engine/tensor/positions.hpp"

#include <vector>

#include "tests/catch.hpp"

using namespace lockstep;

namespace {

std::vector<std::int64_t> listed(const Positions& positions) {
  std::vector<std::int64_t> all;
  for (const TokenRange& range : {positions.early, positions.late}) {
    for (std::int64_t i = 0; i < range.count; ++i) all.push_back(range.first + i);
  }
  return all;
}

// Ranges that are empty, that touch, and that lie apart.
std::vector<Positions> some() {
  std::vector<Positions> all;
  for (const std::int64_t first : {0, 1, 4}) {
    for (const std::int64_t count : {0, 1, 3}) {
      all.push_back({{first, count}});
      for (const std::int64_t gap : {0, 1, 5}) {
        all.push_back({{first, count}, {first + count + gap, 2}});
      }
    }
  }
  return all;
}

}  // namespace

TEST_CASE("positions: a token has the position that the list says, and so many are before any") {
  for (const Positions& positions : some()) {
    const auto list = listed(positions);
    REQUIRE(positions.count() == std::ssize(list));
    for (std::size_t i = 0; i < list.size(); ++i) {
      CHECK(positions.of(static_cast<std::int64_t>(i)) == list[i]);
    }
    for (std::int64_t position = -1; position < 20; ++position) {
      std::int64_t before = 0;
      for (const std::int64_t each : list) before += each < position ? 1 : 0;
      CHECK(positions.before(position) == before);
    }
  }
}

TEST_CASE("positions: the pairs of a query and a key that is no later are counted as one by one") {
  for (const Positions& queries : some()) {
    for (const Positions& keys : some()) {
      std::int64_t pairs = 0;
      for (const std::int64_t query : listed(queries)) {
        for (const std::int64_t key : listed(keys)) pairs += key <= query ? 1 : 0;
      }
      CAPTURE(queries.early.first, queries.late.first, keys.early.first, keys.late.first);
      CHECK(pairs_seen(queries, keys) == pairs);
    }
  }
}
