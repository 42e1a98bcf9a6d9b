// Who owns what: ranges of a flat tensor, and the pieces of parameters in them.
#include "engine/parallel/zero/flat_shards.hpp"

#include <vector>

#include "tests/catch.hpp"

using namespace lockstep;
using lockstep::test::contains;
using zero::flat_shards;
using zero::FlatShards;
using zero::row_shards;
using zero::ShardPiece;

TEST_CASE("flat shards: five elements on four ranks are 2, 2, 1 and 0, padded by 0, 0, 1 and 2") {
  const std::vector<std::int64_t> numels = {3, 2};
  const FlatShards plan = flat_shards(numels, 4);
  CHECK(plan.count == 5);
  CHECK(plan.shard == 2);
  CHECK(plan.starts == std::vector<std::int64_t>{0, 3});
  CHECK(plan.ranks == std::vector<std::vector<ShardPiece>>{
                          {{0, 0, 2, 0}}, {{0, 2, 3, 0}, {1, 0, 1, 1}}, {{1, 1, 2, 0}}, {}});
  for (const auto& [rank, padding] : {std::pair{0, 0}, {1, 0}, {2, 1}, {3, 2}}) {
    CHECK(plan.padding(rank) == padding);
  }
}

TEST_CASE("flat shards: pieces in the order of ranks are each parameter, once and in order") {
  const std::vector<std::vector<std::int64_t>> models = {
      {}, {0}, {1}, {7, 1, 0, 13}, {100, 3, 3, 3}, {2, 2, 2, 2, 2, 2, 2}};
  for (const auto& numels : models) {
    for (const int ranks : {1, 2, 3, 4, 5, 8}) {
      CAPTURE(numels, ranks);
      const FlatShards plan = flat_shards(numels, ranks);
      std::vector<std::int64_t> next(numels.size());
      std::int64_t padding = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        std::int64_t filled = 0;
        for (const ShardPiece& piece : plan.ranks[static_cast<std::size_t>(rank)]) {
          CHECK(piece.offset == filled);
          CHECK(piece.begin == next[piece.parameter]);
          CHECK(piece.begin < piece.end);
          next[piece.parameter] = piece.end;
          filled += piece.end - piece.begin;
        }
        CHECK(filled + plan.padding(rank) == plan.shard);
        padding += plan.padding(rank);
      }
      CHECK(next == numels);
      CHECK(padding == plan.padded() - plan.count);
      CHECK(plan.padded() - plan.count < ranks);
    }
  }
}

TEST_CASE("flat shards: no rank, or a negative size, is refused") {
  const std::vector<std::int64_t> one = {1}, none = {-1};
  CHECK_THROWS_WITH(flat_shards(one, 0), contains("at least one owns something"));
  CHECK_THROWS_WITH(flat_shards(none, 2), contains("a parameter of -1 elements"));
  CHECK_THROWS_WITH(row_shards({}, 0), contains("at least one owns something"));
}

TEST_CASE("row shards: three rows on two ranks are two and one, and a vector is cut by elements") {
  const std::vector<Shape> shapes = {{3, 2}, {3}, {}};
  const FlatShards plan = row_shards(shapes, 2);
  CHECK(plan.count == 10);
  CHECK(plan.shard == 4 + 2 + 1);
  CHECK_FALSE(plan.in_order());
  CHECK(plan.ranks ==
        std::vector<std::vector<ShardPiece>>{{{0, 0, 4, 0}, {1, 0, 2, 4}, {2, 0, 1, 6}},
                                             {{0, 4, 6, 0}, {1, 2, 3, 4}}});
  CHECK(plan.padding(0) == 0);
  CHECK(plan.padding(1) == 4);
}

TEST_CASE("row shards: no row is cut through, and each is one rank's") {
  const std::vector<Shape> shapes = {{7, 3}, {1, 4}, {5}, {0, 3}, {2, 2, 2}};
  for (const int ranks : {1, 2, 3, 4, 5, 8}) {
    CAPTURE(ranks);
    const FlatShards plan = row_shards(shapes, ranks);
    std::vector<std::int64_t> next(shapes.size());
    for (const auto& mine : plan.ranks) {
      for (const ShardPiece& piece : mine) {
        const Shape& shape = shapes[piece.parameter];
        const std::int64_t row = numel_of(shape) / shape.front();
        CHECK(piece.begin == next[piece.parameter]);
        CHECK(piece.begin % row == 0);
        CHECK(piece.end % row == 0);
        CHECK(piece.offset + piece.end - piece.begin <= plan.shard);
        next[piece.parameter] = piece.end;
      }
    }
    for (std::size_t p = 0; p < shapes.size(); ++p) CHECK(next[p] == numel_of(shapes[p]));
  }
}
