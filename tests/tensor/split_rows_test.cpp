// Cross-entropy of rows whose columns are split, put together by hand: what comes of all splits is
// what whole rows give.
#include "engine/tensor/split_rows.hpp"

#include <cmath>
#include <limits>
#include <vector>

#include "engine/base/random.hpp"
#include "engine/tensor/gather.hpp"
#include "engine/tensor/rearrange.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using lockstep::test::contains;
using ops::ColumnSplit;

namespace {

CpuDevice cpu;

Tensor drawn(Shape shape, DType dtype, double size) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < numel_of(shape); ++i) {
    values.push_back(size * (2 * random_uniform(5, static_cast<std::uint64_t>(i)) - 1));
  }
  return from_values(values, shape, dtype, cpu);
}

Tensor integers(const std::vector<double>& values) {
  return from_values(values, {std::ssize(values)}, DType::int64, cpu);
}

// The columns of a split, and two of padding that hold NaN.
Tensor held(const Tensor& logits, const ColumnSplit& split) {
  const Tensor padding = full({logits.size(0), 2}, std::nan(""), logits.dtype(), cpu);
  const Tensor parts[] = {ops::narrow(logits, 1, split.count == 0 ? 0 : split.first, split.count),
                          padding};
  return ops::concatenate(parts, 1);
}

struct Loss {
  Tensor maximum, sum, picked, loss;
};

// What holders of the splits would make of their statistics.
Loss combined(const Tensor& logits, const Tensor& labels, const std::vector<ColumnSplit>& splits) {
  Loss all;
  for (const ColumnSplit& split : splits) {
    const Tensor one = ops::row_maximum(held(logits, split), split);
    if (all.maximum.defined()) {
      all.maximum.reduce_(one, ReduceOp::max);
    } else {
      all.maximum = one;
    }
  }
  for (const ColumnSplit& split : splits) {
    const Tensor sum = ops::sum_of_exponentials(held(logits, split), all.maximum, split);
    const Tensor picked = ops::picked_logits(held(logits, split), labels, split);
    if (all.sum.defined()) {
      all.sum.reduce_(sum, ReduceOp::sum);
      all.picked.reduce_(picked, ReduceOp::sum);
    } else {
      all.sum = sum;
      all.picked = picked;
    }
  }
  all.loss = ops::split_cross_entropy(all.maximum, all.sum, all.picked, labels);
  return all;
}

double difference(const Tensor& a, const Tensor& b) {
  REQUIRE(a.numel() == b.numel());
  double most = 0;
  for (std::int64_t i = 0; i < a.numel(); ++i) {
    const double apart = std::abs(a.item(i) - b.item(i));
    if (!(apart <= most)) most = std::isnan(apart) ? 1e300 : apart;
  }
  return most;
}

}  // namespace

TEST_CASE("split rows: the loss and the gradient of whole rows, wherever the columns are cut") {
  const Tensor labels = integers({3, 0, -100, 36, 17});
  for (const DType dtype : {DType::float32, DType::float64}) {
    const double near = dtype == DType::float64 ? 1e-13 : 2e-6;
    for (const double size : {2.0, 1e4}) {
      const Tensor logits = drawn({5, 37}, dtype, size);
      const auto [expected, probabilities] = ops::cross_entropy(logits, labels);
      const Tensor grad = full({1}, 2, dtype, cpu);
      const Tensor whole = ops::cross_entropy_backward(grad, probabilities, labels);
      for (const std::int64_t cut : {1, 16, 18, 36, 37}) {
        CAPTURE(name_of(dtype), size, cut);
        const std::vector<ColumnSplit> splits{{0, cut, 37}, {cut, 37 - cut, 37}, {40, 0, 37}};
        const Loss found = combined(logits, labels, splits);
        CHECK(difference(found.loss, expected) <= near * (1 + expected.item()));
        for (const ColumnSplit& split : splits) {
          const Tensor of_split = ops::split_cross_entropy_backward(
              grad, held(logits, split), found.maximum, found.sum, labels, split);
          CHECK(difference(ops::narrow(of_split, 1, 0, split.count),
                           ops::narrow(whole, 1, split.count == 0 ? 0 : split.first,
                                       split.count)) <= near);
          CHECK(difference(ops::narrow(of_split, 1, split.count, 2), zeros({5, 2}, dtype, cpu)) ==
                0);
        }
      }
    }
  }
}

TEST_CASE("split rows: one split has the bits of whole rows") {
  const Tensor labels = integers({3, 0, -100, 36, 17});
  for (const DType dtype : {DType::float32, DType::float64}) {
    const Tensor logits = drawn({5, 37}, dtype, 4), grad = full({1}, 0.7, dtype, cpu);
    const auto [loss, probabilities] = ops::cross_entropy(logits, labels);
    const Loss found = combined(logits, labels, {{0, 37, 37}});
    CHECK(difference(found.loss, loss) == 0);
    CHECK(difference(ops::split_cross_entropy_backward(grad, logits, found.maximum, found.sum,
                                                       labels, {0, 37, 37}),
                     ops::cross_entropy_backward(grad, probabilities, labels)) == 0);
  }
}

TEST_CASE("split rows: no columns have the maximum -infinity and the sum 0") {
  const Tensor logits = drawn({3, 4}, DType::float32, 1), labels = integers({0, 1, 2});
  const ColumnSplit none{9, 0, 7};
  CHECK(ops::row_maximum(logits, none).item(2) == -std::numeric_limits<double>::infinity());
  CHECK(ops::sum_of_exponentials(logits, zeros({3}, DType::float32, cpu), none).item(2) == 0);
  CHECK(ops::picked_logits(logits, labels, none).item(2) == 0);
}

TEST_CASE(
    "split rows: a split that its tensor cannot hold, and statistics of other rows, are named") {
  const Tensor logits = drawn({3, 4}, DType::float32, 1), labels = integers({0, 1, 2});
  const Tensor two = zeros({2}, DType::float32, cpu);
  CHECK_THROWS_WITH(
      ops::row_maximum(logits, {0, 5, 9}),
      contains("row_maximum: 5 of 9 from number 0 on are not what 4 places can hold"));
  CHECK_THROWS_WITH(ops::row_maximum(logits, {6, 4, 9}), contains("4 of 9 from number 6 on"));
  CHECK_THROWS_WITH(ops::sum_of_exponentials(logits, two, {0, 4, 4}),
                    contains("the maximum is float32 [2], expected one float32 for each row"));
  CHECK_THROWS_WITH(ops::picked_logits(logits, integers({0, 9, 0}), {0, 4, 9}),
                    contains("label 9 of row 1 is outside [0, 9)"));
  CHECK_THROWS_WITH(ops::picked_logits(logits, integers({-100, -100, -100}), {0, 4, 9}),
                    contains("use Reduction::sum"));
  CHECK_THROWS_WITH(ops::split_cross_entropy(two, two, two, labels),
                    contains("3 labels for rows [2]"));
}

TEST_CASE("split embedding: rows that are elsewhere read as zeros and get nothing back") {
  const Tensor table = drawn({6, 3}, DType::float64, 1), grad = drawn({4, 3}, DType::float64, 2);
  const Tensor indices = integers({5, 2, 0, 2});
  const ColumnSplit rows{2, 2, 6};  // and one row of padding
  const Tensor own = table.narrow(2, 3).clone();
  own.narrow(2, 1).fill_(std::nan(""));
  const Tensor seen = ops::split_embedding(own, indices, rows);
  const Tensor expected = ops::embedding(table, indices);
  expected.narrow(0, 1).fill_(0);
  expected.narrow(2, 1).fill_(0);
  CHECK(difference(seen, expected) == 0);
  const Tensor back = ops::split_embedding_backward(grad, indices, rows, 3);
  const Tensor whole = ops::embedding_backward(grad, indices, 6);
  CHECK(difference(back.narrow(0, 2), whole.narrow(2, 2)) == 0);
  CHECK(difference(back.narrow(2, 1), zeros({1, 3}, DType::float64, cpu)) == 0);
  CHECK_THROWS_WITH(ops::split_embedding(own, integers({6}), rows),
                    contains("index 6 is outside the table's 6 rows"));
}
