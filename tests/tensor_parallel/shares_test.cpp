#include "engine/parallel/tensor/shares.hpp"

#include "engine/parallel/tensor/parallel_attention.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using lockstep::test::contains;
using tensor_parallel::equal_share;
using tensor_parallel::qkv_rows;
using tensor_parallel::RowRange;
using tensor_parallel::vocabulary_share;
using tensor_parallel::VocabularyShare;

TEST_CASE("shares: a size that ranks do not divide is answered with the nearest that they do") {
  CHECK(equal_share("heads", 12, 4) == 3);
  CHECK(equal_share("heads", 0, 3) == 0);
  CHECK_THROWS_WITH(equal_share("heads", 12, 5),
                    contains("12 heads do not divide among 5 tensor-parallel ranks; the nearest "
                             "that do are 10 and 15"));
  CHECK_THROWS_WITH(equal_share("heads", 2, 4), contains("the nearest that do are 4"));
  CHECK_THROWS_WITH(equal_share("heads", 2, 0), contains("a group has at least one"));
}

TEST_CASE("shares: every token of a vocabulary has one rank, and the last ranks hold padding") {
  for (const std::int64_t vocabulary : {1, 7, 8, 50257}) {
    for (const int ranks : {1, 2, 3, 4, 5, 7, 8}) {
      std::int64_t next = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        const VocabularyShare share = vocabulary_share(vocabulary, ranks, rank);
        CHECK(share.held == (vocabulary + ranks - 1) / ranks);
        CHECK(share.first == rank * share.held);
        if (share.real > 0) CHECK(share.first == next);
        next += share.real;
      }
      CHECK(next == vocabulary);
    }
  }
  CHECK(vocabulary_share(3, 4, 3) == VocabularyShare{3, 1, 0});
  CHECK_THROWS_WITH(vocabulary_share(10, 2, 2), contains("ranks count from 0"));
}

TEST_CASE("qkv_rows: each row of the fused projection is on one rank, queries, keys and values") {
  CHECK(qkv_rows(12, 6, 3, 1) == std::array<RowRange, 3>{{{4, 4}, {16, 4}, {28, 4}}});
  for (const int ranks : {1, 2, 3, 4, 8}) {
    const std::int64_t heads = 24, width = 48;
    std::vector<int> owners(static_cast<std::size_t>(3 * width), -1);
    for (int rank = 0; rank < ranks; ++rank) {
      for (const auto& [first, count] : qkv_rows(width, heads, ranks, rank)) {
        for (std::int64_t row = first; row < first + count; ++row) {
          int& owner = owners[static_cast<std::size_t>(row)];
          CHECK(owner == -1);
          owner = rank;
        }
      }
    }
    for (std::size_t row = 0; row < owners.size(); ++row) {
      const std::int64_t head = static_cast<std::int64_t>(row) % width / (width / heads);
      CHECK(owners[row] == head / (heads / ranks));
    }
  }
  CHECK_THROWS_WITH(qkv_rows(12, 5, 1, 0), contains("5 heads do not divide the width 12"));
  CHECK_THROWS_WITH(qkv_rows(12, 6, 4, 0), contains("the nearest that do are 4 and 8"));
  CHECK_THROWS_WITH(qkv_rows(12, 6, 3, 3), contains("ranks count from 0"));
}
