// Every token is on one rank, in order, and zigzag gives all ranks as much to do.
#include "engine/parallel/sequence/zigzag_split.hpp"

#include <cstdlib>

#include "tests/sequence_parallel/shared.hpp"

using namespace lockstep;
using namespace lockstep::sequence_parallel;

namespace {

// Keys that a rank's queries see.
std::int64_t work(const Positions& own) {
  std::int64_t keys = 0;
  for (std::int64_t i = 0; i < own.count(); ++i) keys += own.of(i) + 1;
  return keys;
}

}  // namespace

TEST_CASE("zigzag: each position is at one place, chunks differ by a token, and so ranks' work") {
  for (const int ranks : {1, 2, 3, 4, 5, 7, 8}) {
    for (const std::int64_t length : {2 * ranks, 2 * ranks + 1, 16, 17, 97, 1000}) {
      if (length < 2 * ranks) continue;
      CAPTURE(ranks, length);
      std::vector<int> seen(static_cast<std::size_t>(length), 0);
      std::int64_t least = length * length, most = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        const Positions own = zigzag(length, ranks, rank);
        const std::int64_t chunk = length / (2 * ranks);
        for (const std::int64_t count : {own.early.count, own.late.count}) {
          CHECK((count == chunk || count == chunk + 1));
        }
        CHECK(own.late.first >= own.early.end());
        for (std::int64_t i = 0; i < own.count(); ++i) {
          ++seen[static_cast<std::size_t>(own.of(i))];
          CHECK(zigzag_place(length, ranks, own.of(i)) == TokenPlace{rank, i});
        }
        least = std::min(least, work(own));
        most = std::max(most, work(own));
      }
      CHECK(seen == std::vector<int>(static_cast<std::size_t>(length), 1));
      if (length % (2 * ranks) == 0) CHECK(least == most);
      CHECK(most - least <= 2 * length);  // a token or two
    }
  }
}

TEST_CASE("contiguous: slices follow each other and differ by a token") {
  for (const int ranks : {1, 2, 3, 5, 8}) {
    for (const std::int64_t length : {8, 16, 17, 97}) {
      std::int64_t next = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        const Positions own = contiguous(length, ranks, rank);
        CHECK(own.late.count == 0);
        CHECK(own.early.first == next);
        CHECK((own.count() == length / ranks || own.count() == length / ranks + 1));
        next = own.early.end();
      }
      CHECK(next == length);
    }
  }
}

TEST_CASE("splits: too few tokens, ranks that are not there and positions outside are refused") {
  CHECK_THROWS_WITH(zigzag(7, 4, 0), test::contains("7 tokens for 4 ranks"));
  CHECK_THROWS_AS(zigzag(8, 4, 4), ContractError);
  CHECK_THROWS_AS(zigzag_place(8, 4, 8), ContractError);
  CHECK_THROWS_AS(zigzag_place(7, 4, 0), ContractError);
  CHECK_THROWS_WITH(contiguous(3, 4, 0), test::contains("3 tokens for 4 ranks"));
  CHECK_THROWS_AS(contiguous(8, 4, -1), ContractError);
}
