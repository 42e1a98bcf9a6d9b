// Boxes: what they have in common, flat ranges of them, and copies out of and into a tensor.
#include "engine/tensor/box.hpp"

#include <numeric>

#include "tests/catch.hpp"

using namespace lockstep;
using lockstep::test::contains;

namespace {

// Elements 0, 1, 2, … of a tensor.
Tensor numbered(const Shape& shape, Device& device) {
  std::vector<double> values(static_cast<std::size_t>(numel_of(shape)));
  std::iota(values.begin(), values.end(), 0.0);
  return from_values(values, shape, DType::int64, device);
}

std::vector<std::int64_t> integers_of(const Tensor& tensor) {
  const auto data = tensor.data<std::int64_t>();
  return {data.begin(), data.end()};
}

}  // namespace

TEST_CASE("box: a flat range is a part of a row, whole rows, and a part of a row") {
  CHECK(range_of(whole_of({8, 6}), 4, 20) ==
        Boxes{{{0, 4}, {1, 6}}, {{1, 0}, {3, 6}}, {{3, 0}, {4, 2}}});
  CHECK(range_of(whole_of({8, 6}), 7, 9) == Boxes{{{1, 1}, {2, 3}}});
  CHECK(range_of(whole_of({8, 6}), 6, 12) == Boxes{{{1, 0}, {2, 6}}});
  CHECK(range_of(whole_of({8, 6}), 0, 48) == whole_of({8, 6}));
  CHECK(range_of(whole_of({8, 6}), 5, 5).empty());
  CHECK(range_of(whole_of({}), 0, 1) == whole_of({}));
  CHECK(range_of(whole_of({0, 3}), 0, 0).empty());
  CHECK_THROWS_WITH(range_of(whole_of({2}), 1, 3), contains("elements 1 to 3 of a list of 2"));
}

TEST_CASE("box: every range of every list is its elements, in order") {
  CpuDevice device;
  const Shape shape{3, 2, 4};
  const Tensor whole = numbered(shape, device);
  const std::vector<Boxes> lists{whole_of(shape),
                                 {{{0, 0, 1}, {3, 2, 3}}},
                                 {{{2, 0, 0}, {3, 2, 4}}, {{0, 1, 1}, {2, 2, 4}}},
                                 {{{1, 0, 0}, {1, 2, 4}}, {{0, 0, 0}, {1, 1, 4}}}};
  for (const Boxes& boxes : lists) {
    const std::vector<std::int64_t> all = integers_of(cut(whole, boxes));
    REQUIRE(std::ssize(all) == numel_of(boxes));
    for (std::int64_t begin = 0; begin <= numel_of(boxes); ++begin) {
      for (std::int64_t end = begin; end <= numel_of(boxes); ++end) {
        const Boxes range = range_of(boxes, begin, end);
        CHECK(range.size() <= 5 * boxes.size());
        CHECK(integers_of(cut(whole, range)) ==
              std::vector<std::int64_t>(all.begin() + begin, all.begin() + end));
        const Tensor part = cut(whole, boxes), found = cut_of_part(part, boxes, range);
        CHECK(integers_of(found) == integers_of(cut(whole, range)));
        // A range of a part lies there together, and is not copied.
        if (begin < end) CHECK(found.same_place(part.narrow(begin, end - begin)));
      }
    }
  }
}

TEST_CASE("box: the rows of a part lie where the box that it is in has them") {
  using Places = std::vector<std::int64_t>;
  CHECK(rows_of({{2, 1}, {4, 3}}, {{1, 0}, {5, 4}}) == Places{5, 9});
  CHECK(rows_of({{1, 0}, {3, 4}}, {{1, 0}, {5, 4}}) == Places{0, 4});  // whole rows are rows, too
  CHECK(rows_of({{0, 1, 2}, {2, 2, 4}}, {{0, 0, 1}, {2, 2, 4}}) == Places{4, 10});
  CHECK(rows_of({{3}, {7}}, {{2}, {9}}) == Places{1});
  CHECK(rows_of({{}, {}}, {{}, {}}) == Places{0});
  CHECK(rows_of({{2}, {2}}, {{0}, {4}}).empty());
}

TEST_CASE("box: query, key and value of a head, and a flat range of a column, can be said") {
  CpuDevice device;
  // [3·C, C] with C = 4 and two heads of two rows: the second head's.
  const Boxes head{{{2, 0}, {4, 4}}, {{6, 0}, {8, 4}}, {{10, 0}, {12, 4}}};
  CHECK(integers_of(cut(numbered({12, 4}, device), head)).front() == 8);
  CHECK(numel_of(head) == 24);
  // Elements 3 to 6 of the last two columns of [4, 4].
  const Boxes columns{{{0, 2}, {4, 4}}};
  CHECK(integers_of(cut(numbered({4, 4}, device), range_of(columns, 3, 6))) ==
        std::vector<std::int64_t>{7, 10, 11});
}

TEST_CASE("box: a box without a hole is boxes that do not overlap and miss no element") {
  CpuDevice device;
  const Shape shape{4, 3, 5};
  const Box box{{1, 0, 1}, {4, 3, 4}};
  for (const Box& hole : Boxes{{{2, 1, 2}, {3, 2, 3}},
                               {{0, 0, 0}, {2, 2, 5}},
                               {{0, 0, 0}, {4, 3, 5}},
                               {{0, 0, 0}, {1, 3, 5}}}) {
    CAPTURE(text_of(hole));
    const Tensor marks = zeros(shape, DType::int64, device);
    const auto common = intersection(box, hole);
    Boxes parts = without(box, hole);
    CHECK(parts.size() <= 6);
    if (common) parts.push_back(*common);
    for (const Box& part : parts) {
      const Tensor ones = full({numel_of(part)}, 1, DType::int64, device);
      ones.reduce_(cut(marks, {part}), ReduceOp::sum);
      place(ones, {part}, marks);
    }
    const Tensor expected = zeros(shape, DType::int64, device);
    place(full({numel_of(box)}, 1, DType::int64, device), {box}, expected);
    CHECK(integers_of(marks) == integers_of(expected));
  }
}

TEST_CASE("box: a part without the wanted elements says which") {
  CpuDevice device;
  const Boxes held{{{0, 0}, {2, 2}}};
  const Tensor part = cut(numbered({4, 4}, device), held);
  CHECK_THROWS_WITH(cut_of_part(part, held, {{{1, 1}, {2, 3}}}),
                    contains("no box holds [1, 1]-[2, 3]"));
}
