#include "engine/train/pieces.hpp"

#include <array>
#include <limits>
#include <vector>

#include "tests/catch.hpp"
#include "tests/train/fiber_ranks.hpp"

using namespace lockstep;
using lockstep::test::contains;
using lockstep::test::on_fibers;
using train::Piece;
using train::PieceKind;

namespace {

// Elements 0, 1, 2, … of a tensor of the whole, and a part of it.
Piece piece_of(const std::string& name, const Shape& shape, const Boxes& boxes, Device& device,
               DType dtype = DType::float32) {
  std::vector<double> values(static_cast<std::size_t>(numel_of(shape)));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i);
  const Tensor whole = from_values(values, shape, dtype, device);
  return {PieceKind::parameter, name, shape, boxes, cut(whole, boxes)};
}

std::vector<double> values_of(const Tensor& tensor) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < tensor.numel(); ++i) values.push_back(tensor.item(i));
  return values;
}

std::vector<double> counted_to(std::int64_t count) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(static_cast<double>(i));
  return values;
}

}  // namespace

TEST_CASE("pieces: columns, rows and flat ranges are put together on the rank that asks") {
  for (const int ranks : {1, 2, 3, 5}) {
    for (const int to : {0, ranks - 1}) {
      CAPTURE(ranks, to);
      on_fibers(ranks, [&](comm::ProcessGroup& group) {
        CpuDevice device;
        const std::int64_t n = group.size(), r = group.rank();
        std::vector<Piece> mine{
            piece_of("columns", {3, 2 * n}, {{{0, 2 * r}, {3, 2 * r + 2}}}, device),
            piece_of("rows", {2 * n, 3}, {{{2 * r, 0}, {2 * r + 2, 3}}}, device, DType::int64)};
        // 7 elements in flat ranges that do not divide: the last ranks have fewer, or none.
        const std::int64_t each = (7 + n - 1) / n, begin = std::min<std::int64_t>(r * each, 7);
        mine.push_back(piece_of(
            "flat", {7}, range_of(whole_of({7}), begin, std::min<std::int64_t>(begin + each, 7)),
            device, DType::bfloat16));
        if (r == n - 1) mine.push_back(piece_of("alone", {}, whole_of({}), device));
        const auto whole = train::gather_whole(group, to, mine, device);
        if (group.rank() != to) {
          CHECK(whole.empty());
          return;
        }
        REQUIRE(whole.size() == 4);
        CHECK(whole[0].name == "columns");
        CHECK(whole[0].value.shape() == Shape{3, 2 * n});
        CHECK(values_of(whole[0].value) == counted_to(6 * n));
        CHECK(whole[1].value.dtype() == DType::int64);
        CHECK(values_of(whole[1].value) == counted_to(6 * n));
        CHECK(whole[2].value.dtype() == DType::bfloat16);
        CHECK(values_of(whole[2].value) == counted_to(7));
        CHECK(whole[3].value.shape().empty());
      });
    }
  }
}

TEST_CASE("pieces: a part that nobody holds is named, on every rank") {
  std::vector<int> told(3);
  on_fibers(3, [&](comm::ProcessGroup& group) {
    CpuDevice device;
    const std::int64_t r = group.rank();
    std::vector<Piece> mine;
    if (r != 1) mine.push_back(piece_of("w", {6, 2}, {{{2 * r, 0}, {2 * r + 2, 2}}}, device));
    CHECK_THROWS_WITH(train::gather_whole(group, 0, mine, device),
                      contains("the state of w is not whole: no rank holds place 4 of 12"));
    ++told[static_cast<std::size_t>(r)];
  });
  CHECK(told == std::vector<int>{1, 1, 1});
}

TEST_CASE("pieces: what the rank that asks holds itself does not travel") {
  on_fibers(4, [&](comm::ProcessGroup& group) {
    CpuDevice device;
    const std::int64_t r = group.rank();
    // A large piece that all hold, with values that tell whose copy was taken, and a quarter each.
    std::vector<Piece> mine{piece_of("tied", {1000}, whole_of({1000}), device),
                            piece_of("cut", {4}, {{{r}, {r + 1}}}, device)};
    mine[0].value.fill_(static_cast<double>(r));
    const std::int64_t before = group.traffic().bytes_sent;
    const auto whole = train::gather_whole(group, 2, mine, device);
    CHECK(group.traffic().bytes_sent - before < 4000);  // the large piece has that many, in float32
    if (r != 2) return;
    REQUIRE(whole.size() == 2);
    CHECK(values_of(whole[0].value) == std::vector<double>(1000, 2.0));
    CHECK(values_of(whole[1].value) == counted_to(4));
  });
}

TEST_CASE("pieces: copies that differ are found, and the first rank that differs is named") {
  on_fibers(4, [&](comm::ProcessGroup& group) {
    CpuDevice device;
    const std::int64_t r = group.rank();
    // A replica on each rank.
    std::vector<Piece> replica{piece_of("w", {4, 2}, whole_of({4, 2}), device)};
    CHECK(train::compare(group, replica).differs == -1);
    CHECK(train::compare(group, replica).holders == train::Agreement::Holders::replicas);
    if (r >= 2) replica[0].value.fill_(1);
    CHECK(train::compare(group, replica).differs == 2);

    // Halves, each on two ranks; and a tied weight that all hold beside them.
    std::vector<Piece> half{
        piece_of("w", {4, 2}, {{{2 * (r % 2), 0}, {2 * (r % 2) + 2, 2}}}, device),
        piece_of("tied", {3}, whole_of({3}), device)};
    const auto equal = train::compare(group, half);
    CHECK(equal.differs == -1);
    CHECK(equal.holders == train::Agreement::Holders::parts);
    CHECK(equal.hashes[0] == equal.hashes[2]);
    CHECK(equal.hashes[0] != equal.hashes[1]);
    if (r == 3) half[1].value.fill_(7);
    CHECK(train::compare(group, half).differs == 3);
    // What is no parameter may differ: each rank has its own state of an optimizer.
    half[1].kind = PieceKind::optimizer_state;
    CHECK(train::compare(group, half).differs == -1);
  });
}

TEST_CASE("pieces: two ways of cutting one tensor are put together, each element from one rank") {
  on_fibers(6, [](comm::ProcessGroup& group) {
    CpuDevice device;
    const std::int64_t r = group.rank();
    // Ranks 0 to 3 have a flat quarter each of [8, 6]; 4 and 5 the left and the right columns.
    const Boxes flat = range_of(whole_of({8, 6}), 12 * (r % 4), 12 * (r % 4) + 12);
    const Boxes columns{{{0, 3 * (r % 2)}, {8, 3 * (r % 2) + 3}}};
    Piece mine = piece_of("w", {8, 6}, r < 4 ? flat : columns, device);
    mine.value.fill_(static_cast<double>(r));
    const auto whole = train::gather_whole(group, 5, {mine}, device);
    if (r != 5) return;
    REQUIRE(whole.size() == 1);
    // Rank 5 has the right half, each quarter brings its own left half, and rank 4 nothing.
    for (std::int64_t i = 0; i < 48; ++i) {
      CHECK(whole[0].value.item(i) == static_cast<double>(i % 6 >= 3 ? 5 : i / 12));
    }
  });
}

TEST_CASE("pieces: query, key and value of each rank's heads are put together") {
  on_fibers(2, [](comm::ProcessGroup& group) {
    CpuDevice device;
    const std::int64_t r = group.rank();
    Boxes heads;  // [3·4, 4] in rows: query, key, value
    for (std::int64_t i = 0; i < 3; ++i) {
      heads.push_back({{4 * i + 2 * r, 0}, {4 * i + 2 * r + 2, 4}});
    }
    const std::vector<Piece> mine{piece_of("qkv", {12, 4}, heads, device)};
    CHECK(train::compare(group, mine).differs == -1);
    const auto whole = train::gather_whole(group, 1, mine, device);
    if (r == 1) CHECK(values_of(whole.at(0).value) == counted_to(48));
  });
}

TEST_CASE("pieces: an element in two ranks' boxes that are cut otherwise must have one value") {
  on_fibers(3, [](comm::ProcessGroup& group) {
    CpuDevice device;
    const std::int64_t r = group.rank();
    // The whole, its second column, and its last row: they meet in the last element alone.
    const Boxes boxes = r == 0   ? whole_of({4, 2})
                        : r == 1 ? Boxes{{{0, 1}, {4, 2}}}
                                 : Boxes{{{3, 0}, {4, 2}}};
    Piece mine = piece_of("w", {4, 2}, boxes, device);
    const auto differs = [&] { return train::compare(group, {mine}).differs; };
    CHECK(differs() == -1);
    if (r == 2) mine.value.fill_(7);  // elements 6 and 7
    CHECK(differs() == 2);
    if (r < 2) mine.value.view({-1}).narrow(mine.value.numel() - 1, 1).fill_(7);
    CHECK(differs() == 2);  // element 6 is rank 0's alone to contradict
    if (r == 0) mine.value.view({-1}).narrow(6, 1).fill_(7);
    CHECK(differs() == -1);
    if (r == 1) mine.value.narrow(0, 1).fill_(3);
    CHECK(differs() == 1);
  });
}

TEST_CASE(
    "pieces: what is not finite on one rank is told on all, in the all-gather that is there") {
  // By name: what the piece holds in one place, and what is said of it.
  struct Planted {
    DType dtype;
    PieceKind kind;
    double value;
    std::string told;  // empty: it is as good as any
  };
  constexpr double nan = std::numeric_limits<double>::quiet_NaN(),
                   infinite = std::numeric_limits<double>::infinity();
  const PieceKind weight = PieceKind::parameter, state = PieceKind::optimizer_state;
  const std::vector<Planted> all{
      {DType::float32, weight, nan, "is nan"},
      {DType::float32, state, -nan, "is nan"},
      {DType::float64, state, -infinite, "is infinite"},
      {DType::bfloat16, weight, nan, "is nan"},
      {DType::float16, weight, infinite, "is infinite"},
      {DType::float32, PieceKind::buffer, infinite, "is infinite"},
      {DType::float32, weight, -1.9e19, "is so large that its square is infinite"},
      {DType::bfloat16, weight, 1e30, "is so large that its square is infinite"},
      {DType::float32, weight, 1.8e19, ""},
      {DType::float32, state, 1e38, ""},
      {DType::float64, weight, 1e100, ""},
      {DType::float16, weight, 65504, ""},
      {DType::int64, state, 9e18, ""},
  };
  for (const Planted& planted : all) {
    std::vector<std::string> told(6);
    std::vector<std::int64_t> sent(3);
    on_fibers(3, [&](comm::ProcessGroup& group) {
      CpuDevice device;
      const auto rank = static_cast<std::size_t>(group.rank());
      std::vector<Piece> mine{piece_of("sound", {4}, whole_of({4}), device)};
      mine.push_back({planted.kind,
                      "planted",
                      {3},
                      whole_of({3}),
                      from_values(std::array{1.0, 2.0, rank == 1 ? planted.value : 3.0}, {3},
                                  planted.dtype, device)});
      try {
        train::gather_whole(group, 0, mine, device);
      } catch (const train::NotFinite& found) {
        told[rank] = found.what();
      }
      const std::int64_t before = group.traffic().bytes_sent;
      try {
        train::compare(group, mine);
      } catch (const train::NotFinite& found) {
        told[3 + rank] = found.what();
      }
      sent[rank] = group.traffic().bytes_sent - before;
    });
    CAPTURE(planted.value, planted.told, sent);
    const std::string expected =
        planted.told.empty() ? "" : "planted " + planted.told + " on rank 1";
    CHECK(told == std::vector<std::string>(6, expected));
    if (planted.told.empty() && planted.kind != weight) {
      CHECK(sent == std::vector<std::int64_t>(3, sent[0]));
    }
  }
}
