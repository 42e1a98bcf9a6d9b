// Reading a part of a tensor from the boxes that others saved, beside a copy that is made element
// by element. Saving in shares has its tests where training runs do it (tests/train/save_test.cpp).
#include "engine/checkpoint/sharded_checkpoint.hpp"

#include <algorithm>

#include "engine/base/random.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using checkpoint::Stretch;
using lockstep::test::contains;

namespace {

// A range of rows and columns of [rows, columns], drawn; it may be empty.
Box drawn_box(std::uint64_t seed, std::uint64_t number, std::int64_t rows, std::int64_t columns) {
  const auto drawn = [&](std::uint64_t which, std::int64_t below) {
    return static_cast<std::int64_t>(random_bits(seed, 4 * number + which) %
                                     static_cast<std::uint64_t>(below));
  };
  const std::int64_t row = drawn(0, rows), column = drawn(1, columns);
  return {{row, column}, {row + drawn(2, rows - row + 1), column + drawn(3, columns - column + 1)}};
}

}  // namespace

TEST_CASE("read boxes: each wanted element comes once, and each box is read from front to back") {
  constexpr std::int64_t rows = 6, columns = 5;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    // The last box has all, so that every element is somewhere.
    std::vector<Box> saved;
    for (std::uint64_t i = 0; i < 4; ++i) saved.push_back(drawn_box(seed, i, rows, columns));
    saved.push_back(whole_of({rows, columns}).front());
    Boxes wanted{drawn_box(seed, 10, rows, columns)};
    for (const Box& rest : without(whole_of({rows, columns}).front(), wanted.front())) {
      wanted.push_back(rest);
    }
    const auto count = static_cast<std::size_t>(numel_of(wanted));
    std::vector<std::uint16_t> found(count, 0xffff), expected;
    for (const Box& box : wanted) {
      for_runs({rows, columns}, box, [&](std::int64_t first, std::int64_t length) {
        for (std::int64_t i = 0; i < length; ++i) {
          expected.push_back(static_cast<std::uint16_t>(first + i));
        }
      });
    }
    int source = -1;
    std::int64_t end = 0, read = 0;
    checkpoint::read_boxes(
        saved, wanted, sizeof(std::uint16_t),
        [&](const Stretch& from, std::span<std::byte> into) {
          CHECK((from.source > source || (from.source == source && from.offset >= end)));
          source = from.source;
          end = from.offset + from.length;
          read += from.length;
          REQUIRE(into.size() == static_cast<std::size_t>(from.length) * sizeof(std::uint16_t));
          // An element is its own place in the whole.
          std::vector<std::uint16_t> held;
          for_runs({rows, columns}, saved[static_cast<std::size_t>(source)],
                   [&](std::int64_t first, std::int64_t length) {
                     for (std::int64_t i = 0; i < length; ++i) {
                       held.push_back(static_cast<std::uint16_t>(first + i));
                     }
                   });
          const auto part = std::as_bytes(std::span(held))
                                .subspan(static_cast<std::size_t>(from.offset) * 2, into.size());
          std::ranges::copy(part, into.begin());
        },
        std::as_writable_bytes(std::span(found)));
    CAPTURE(seed);
    CHECK(found == expected);
    CHECK(read == static_cast<std::int64_t>(count));
  }
}

TEST_CASE("read boxes: an element that no box has is told, and nothing is read") {
  const std::vector<Box> saved{{{0, 0}, {2, 4}}, {{3, 0}, {4, 4}}};
  std::vector<std::byte> into(16);
  int reads = 0;
  CHECK_THROWS_WITH(
      checkpoint::read_boxes(
          saved, whole_of({4, 4}), 1, [&](const Stretch&, std::span<std::byte>) { ++reads; }, into),
      contains("no source holds [2, 0]-[3, 4]"));
  CHECK(reads == 0);
}
