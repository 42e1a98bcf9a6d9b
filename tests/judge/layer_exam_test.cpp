// The kit of layers that are dealt to ranks: pieces of tensors, numbers that stand several times in
// a tensor, and the plain products that the judge computes with.
#include "grader/exam/layer/exam.hpp"

#include <algorithm>

#include "grader/judge/compare.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::grader;

TEST_CASE("a tensor that is cut along an axis: rank r has the r-th range of it", "[judge]") {
  const LayerPart rows = cut_along("w", {4, 2}, 0, 2), columns = cut_along("w", {2, 4}, 1, 2);
  const grader::Numbers whole{0, 1, 2, 3, 4, 5, 6, 7};
  CHECK(rows.shapes == std::vector<Axes>{{2, 2}, {2, 2}});
  CHECK(rows.deal.piece(1, whole) == grader::Numbers{4, 5, 6, 7});
  CHECK(columns.shapes == std::vector<Axes>{{2, 2}, {2, 2}});
  CHECK(columns.deal.piece(0, whole) == grader::Numbers{0, 1, 4, 5});
  CHECK(columns.deal.piece(1, whole) == grader::Numbers{2, 3, 6, 7});
  CHECK_THROWS_AS(cut_along("w", {3, 2}, 0, 2), Error);
}

TEST_CASE("a tensor that all ranks hold, and one that each has for itself", "[judge]") {
  const LayerPart all = held_by_all("x", {2}, 3), own = own_of_each("x", {2}, 3);
  CHECK(all.count == 2);
  CHECK(own.count == 6);
  CHECK(all.deal.piece(2, grader::Numbers{7, 8}) == grader::Numbers{7, 8});
  CHECK(own.deal.piece(2, grader::Numbers{0, 1, 2, 3, 4, 5}) == grader::Numbers{4, 5});
  CHECK(own.shapes == std::vector<Axes>(3, Axes{2}));
}

TEST_CASE("drawn numbers are never 0 and those of narrow types are whole", "[judge]") {
  for (const DType dtype : {DType::float64, DType::float32, DType::bfloat16}) {
    const grader::Numbers drawn = drawn_numbers(dtype, 5, 1, 100);
    CHECK(std::ranges::none_of(drawn, [](double value) { return value == 0; }));
    CHECK(as_doubles(dtype, to_bytes(dtype, drawn)) == drawn);
    CHECK(drawn != drawn_numbers(dtype, 6, 1, 100));
  }
}

TEST_CASE("the gradients of a plain product are its differences", "[judge]") {
  const DenseSizes s{2, 3, 2};
  const grader::Numbers x = drawn_numbers(DType::float32, 1, 0, 6),
                        w = drawn_numbers(DType::float32, 1, 1, 6),
                        dy = drawn_numbers(DType::float32, 1, 2, 4);
  const auto weighted = [&](const grader::Numbers& of_x, const grader::Numbers& of_w) {
    const grader::Numbers y = dense_output(s, of_x, of_w);
    double sum = 0;
    for (std::size_t e = 0; e < y.size(); ++e) sum += dy[e] * y[e];
    return sum;
  };
  const grader::Numbers dx = dense_to_input(s, dy, w), dw = dense_to_weight(s, dy, x);
  for (std::size_t e = 0; e < 6; ++e) {
    grader::Numbers more_x = x, more_w = w;
    ++more_x[e], ++more_w[e];
    CHECK(weighted(more_x, w) - weighted(x, w) == dx[e]);
    CHECK(weighted(x, more_w) - weighted(x, w) == dw[e]);
  }
}
