// The plan by which N ranks become M, beside a map of elements that is computed one by one.
#include "engine/checkpoint/reshard_plan.hpp"

#include <map>

#include "engine/base/random.hpp"
#include "engine/checkpoint/storage.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using checkpoint::reshard;
using checkpoint::ShardPlan;
using checkpoint::Stretch;
using lockstep::test::contains;

namespace {

// The flat elements of a tensor that a list of boxes has, in its order.
std::vector<std::int64_t> elements_of(const Shape& shape, const Boxes& boxes) {
  std::vector<std::int64_t> elements;
  for (const Box& box : boxes) {
    for_runs(shape, box, [&](std::int64_t first, std::int64_t count) {
      for (std::int64_t i = 0; i < count; ++i) elements.push_back(first + i);
    });
  }
  return elements;
}

void check_plan(const Shape& shape, const ShardPlan& saved, const ShardPlan& wanted) {
  std::map<std::int64_t, std::pair<int, std::int64_t>> first;  // element → source and place
  for (std::size_t source = 0; source < saved.size(); ++source) {
    const auto held = elements_of(shape, saved[source]);
    for (std::size_t i = 0; i < held.size(); ++i) {
      first.try_emplace(held[i], static_cast<int>(source), static_cast<std::int64_t>(i));
    }
  }
  for (std::size_t rank = 0; rank < wanted.size(); ++rank) {
    CAPTURE(rank);
    std::vector<std::pair<int, std::int64_t>> planned, expected;
    const auto plan = reshard(saved, wanted, static_cast<int>(rank));
    for (std::size_t i = 0; i < plan.size(); ++i) {
      REQUIRE(plan[i].length > 0);
      for (std::int64_t k = 0; k < plan[i].length; ++k) {
        planned.emplace_back(plan[i].source, plan[i].offset + k);
      }
      if (i == 0) continue;  // and never two for what could be one
      CHECK_FALSE((plan[i].source == plan[i - 1].source &&
                   plan[i].offset == plan[i - 1].offset + plan[i - 1].length));
    }
    for (const std::int64_t element : elements_of(shape, wanted[rank])) {
      expected.push_back(first.at(element));
    }
    CHECK(planned == expected);
  }
}

// Flat shards of equal size, the last ones shorter or empty: the padding is in no box.
ShardPlan flat(const Shape& shape, int ranks) {
  const std::int64_t count = numel_of(shape), each = (count + ranks - 1) / ranks;
  ShardPlan plan;
  for (int rank = 0; rank < ranks; ++rank) {
    const std::int64_t begin = std::min(count, rank * each), end = std::min(count, begin + each);
    plan.push_back(range_of(whole_of(shape), begin, end));
  }
  return plan;
}

// Ranges of an axis, one for each rank.
ShardPlan along(std::size_t axis, const Shape& shape, int ranks) {
  ShardPlan plan;
  for (int rank = 0; rank < ranks; ++rank) {
    Box box = whole_of(shape).front();
    box.begin[axis] = shape[axis] * rank / ranks;
    box.end[axis] = shape[axis] * (rank + 1) / ranks;
    plan.push_back({box});
  }
  return plan;
}

}  // namespace

TEST_CASE("reshard: three flat shards become two, as in the contract") {
  const ShardPlan saved = flat({8}, 3), wanted = flat({8}, 2);
  CHECK(reshard(saved, wanted, 0) == std::vector<Stretch>{{0, 0, 3}, {1, 0, 1}});
  CHECK(reshard(saved, wanted, 1) == std::vector<Stretch>{{1, 1, 2}, {2, 0, 2}});
}

TEST_CASE("reshard: as many ranks as before read what they wrote, in one stretch") {
  for (const int ranks : {1, 2, 3, 4, 7}) {
    const ShardPlan plan = flat({5, 3}, ranks);
    for (int rank = 0; rank < ranks; ++rank) {
      const std::int64_t held = numel_of(plan[static_cast<std::size_t>(rank)]);
      const auto expected =
          held == 0 ? std::vector<Stretch>{} : std::vector<Stretch>{{rank, 0, held}};
      CHECK(reshard(plan, plan, rank) == expected);
    }
  }
}

TEST_CASE("reshard: any number of ranks becomes any other, in flat shards, rows and columns") {
  for (const Shape& shape :
       {Shape{1}, Shape{13}, Shape{6, 4}, Shape{5, 7}, Shape{3, 4, 5}, Shape{}}) {
    for (const int from : {1, 2, 3, 4, 5, 8}) {
      for (const int to : {1, 2, 3, 4, 5, 7, 8}) {
        CAPTURE(text_of(shape), from, to);
        std::vector<ShardPlan> before{flat(shape, from)}, after{flat(shape, to)};
        for (std::size_t axis = 0; axis < shape.size(); ++axis) {
          before.push_back(along(axis, shape, from));
          after.push_back(along(axis, shape, to));
        }
        for (const ShardPlan& saved : before) {
          for (const ShardPlan& wanted : after) check_plan(shape, saved, wanted);
        }
      }
    }
  }
}

TEST_CASE(
    "reshard: lists of boxes, such as flat ranges of the heads of a rank, become any others") {
  // Query, key and value of two of four heads each, cut into flat halves: ZeRO under --tp 2.
  const Shape shape{24, 3};
  ShardPlan saved;
  for (std::int64_t t = 0; t < 2; ++t) {
    Boxes heads;
    for (std::int64_t part = 0; part < 3; ++part) {
      heads.push_back({{8 * part + 4 * t, 0}, {8 * part + 4 * t + 4, 3}});
    }
    saved.push_back(range_of(heads, 0, 17));
    saved.push_back(range_of(heads, 17, 36));
  }
  for (const int to : {1, 2, 3, 5}) {
    check_plan(shape, saved, flat(shape, to));
    check_plan(shape, flat(shape, to), saved);
    check_plan(shape, along(1, shape, 3), saved);
  }
}

TEST_CASE(
    "reshard: of copies the first source is read, and of an element that is nowhere it tells") {
  const Shape shape{4, 6};
  ShardPlan copies = along(1, shape, 2);
  copies.push_back(whole_of(shape));
  check_plan(shape, copies, flat(shape, 3));
  check_plan(shape, {whole_of(shape), whole_of(shape)}, along(0, shape, 2));
  ShardPlan holed = along(0, shape, 4);
  holed[2].clear();
  CHECK(reshard(holed, along(0, shape, 4), 1) == std::vector<Stretch>{{1, 0, 6}});
  CHECK_THROWS_WITH(reshard(holed, flat(shape, 2), 1), contains("no source holds [2, 0]-[3, 6]"));
  for (const int rank : {-1, 2}) {
    CHECK_THROWS_WITH(reshard(copies, flat(shape, 2), rank),
                      contains(text("rank ", rank, " of 2")));
  }
}
