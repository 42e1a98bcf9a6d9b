#include "engine/tensor/ops.hpp"

#include <cmath>
#include <limits>
#include <vector>

#include "tests/catch.hpp"

using namespace lockstep;
using lockstep::test::Approx;
using lockstep::test::contains;
using ops::Transpose;

namespace {

CpuDevice device;

Tensor matrix(std::vector<double> values, Shape shape, DType dtype = DType::float64) {
  return from_values(values, std::move(shape), dtype, device);
}
Tensor labels_of(std::vector<double> values) {
  const auto count = static_cast<std::int64_t>(values.size());
  return from_values(values, {count}, DType::int64, device);
}
std::vector<double> values_of(const Tensor& tensor) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < tensor.numel(); ++i) values.push_back(tensor.item(i));
  return values;
}

}  // namespace

TEST_CASE("matmul of tensors: the four transpositions of one small product") {
  const Tensor a = matrix({1, 2, 3, 4, 5, 6}, {2, 3}), at = matrix({1, 4, 2, 5, 3, 6}, {3, 2});
  const Tensor b = matrix({1, 0, 2, 1, 0, 3}, {3, 2}), bt = matrix({1, 2, 0, 0, 1, 3}, {2, 3});
  const std::vector<double> c = {5, 11, 14, 23};
  CHECK(values_of(ops::matmul(a, Transpose::no, b, Transpose::no)) == c);
  CHECK(values_of(ops::matmul(at, Transpose::yes, b, Transpose::no)) == c);
  CHECK(values_of(ops::matmul(a, Transpose::no, bt, Transpose::yes)) == c);
  CHECK(values_of(ops::matmul(at, Transpose::yes, bt, Transpose::yes)) == c);
}

TEST_CASE("matmul of tensors: shapes and dtypes that do not fit are named") {
  const Tensor a = matrix({1, 2, 3, 4, 5, 6}, {2, 3});
  CHECK_THROWS_WITH(ops::matmul(a, Transpose::no, a, Transpose::no),
                    contains("[2, 3] times [2, 3]"));
  CHECK_THROWS_WITH(ops::matmul(a, Transpose::yes, a, Transpose::yes), contains("[2, 3]ᵀ"));
  CHECK_THROWS_AS(
      ops::matmul(a, Transpose::no, matrix({1, 2, 3}, {3, 1}, DType::float32), Transpose::no),
      ContractError);
  CHECK_THROWS_AS(ops::matmul(labels_of({1}).view({1, 1}), Transpose::no,
                              labels_of({1}).view({1, 1}), Transpose::no),
                  ContractError);
  CHECK_THROWS_AS(ops::matmul(a.view({6}), Transpose::no, a, Transpose::no), ContractError);
}

TEST_CASE("elementwise operations: values, and shapes that differ are refused") {
  const Tensor a = matrix({1, -2, 0, 4}, {2, 2}), b = matrix({5, 6, 7, 8}, {2, 2});
  CHECK(values_of(ops::add(a, b)) == std::vector<double>{6, 4, 7, 12});
  CHECK(values_of(ops::multiply(a, b)) == std::vector<double>{5, -12, 0, 32});
  CHECK(values_of(ops::relu(a)) == std::vector<double>{1, 0, 0, 4});
  CHECK(values_of(ops::relu_backward(b, ops::relu(a))) == std::vector<double>{5, 0, 0, 8});
  CHECK_THROWS_WITH(ops::add(a, b.view({4})), contains("[2, 2] and float64 [4]"));
  CHECK_THROWS_AS(ops::multiply(a, matrix({1, 2, 3, 4}, {2, 2}, DType::float32)), ContractError);
}

TEST_CASE("relu: a NaN stays a NaN") {
  const Tensor x = matrix({std::numeric_limits<double>::quiet_NaN()}, {1});
  CHECK(std::isnan(ops::relu(x).item()));
}

TEST_CASE("rows: add_row adds to each, sum_rows adds them up in order") {
  const Tensor x = matrix({1, 2, 3, 4, 5, 6}, {3, 2});
  CHECK(values_of(ops::add_row(x, matrix({10, 20}, {2}))) ==
        std::vector<double>{11, 22, 13, 24, 15, 26});
  CHECK(values_of(ops::sum_rows(x)) == std::vector<double>{9, 12});
  CHECK(values_of(ops::sum_rows(x.narrow(0, 0))) == std::vector<double>{0, 0});
  // In order: (1 + 2^53) - 2^53 loses the one, any other grouping keeps it.
  CHECK(ops::sum_rows(matrix({1, 0x1p53, -0x1p53}, {3, 1})).item() == 0);
  CHECK_THROWS_AS(ops::add_row(x, matrix({1, 2, 3}, {3})), ContractError);
}

TEST_CASE("cross entropy: equal logits cost log C, and the gradient is (p - onehot)/B") {
  for (const DType dtype : {DType::float32, DType::float64}) {
    const Tensor logits = zeros({2, 4}, dtype, device);
    const auto [loss, p] = ops::cross_entropy(logits, labels_of({1, 3}));
    CHECK(loss.shape() == Shape{1});
    CHECK(loss.item() == Approx(std::log(4.0)));
    CHECK(values_of(p) == std::vector<double>(8, 0.25));
    const Tensor grad = ops::cross_entropy_backward(2.0, p, labels_of({1, 3}));
    CHECK(values_of(grad) == std::vector<double>{.25, -.75, .25, .25, .25, .25, .25, -.75});
  }
}

TEST_CASE("cross entropy: logits of a million do not overflow") {
  const Tensor logits = matrix({1e6, 0, -1e6, 1e6}, {2, 2}, DType::float32);
  const auto [loss, p] = ops::cross_entropy(logits, labels_of({0, 0}));
  CHECK(loss.item() == Approx(1e6));
  CHECK(values_of(p) == std::vector<double>{1, 0, 0, 1});
}

TEST_CASE("cross entropy: labels outside the classes, too few, or no batch are refused") {
  const Tensor logits = zeros({2, 4}, DType::float32, device);
  CHECK_THROWS_WITH(ops::cross_entropy(logits, labels_of({0, 4})), contains("label 4 of row 1"));
  CHECK_THROWS_AS(ops::cross_entropy(logits, labels_of({0, -1})), ContractError);
  CHECK_THROWS_AS(ops::cross_entropy(logits, labels_of({0})), ContractError);
  CHECK_THROWS_AS(ops::cross_entropy(logits.narrow(0, 0), labels_of({})), ContractError);
}

TEST_CASE("sum of squares is accumulated in float64, count_correct takes the first largest") {
  CHECK(ops::sum_of_squares(full({3}, 1e4F + 1, DType::float32, device)) == 3.0 * 10001 * 10001);
  CHECK(ops::sum_of_squares(zeros({0}, DType::float64, device)) == 0);
  for (const std::int64_t count : {1, 15, 16, 17, 1009}) {  // squares of 1 … count, exact
    std::vector<double> values;
    for (std::int64_t i = 1; i <= count; ++i) values.push_back(static_cast<double>(i));
    const auto sum = static_cast<double>(count * (count + 1) * (2 * count + 1) / 6);
    CHECK(ops::sum_of_squares(from_values(values, {count}, DType::float32, device)) == sum);
    CHECK(ops::sum_of_squares(from_values(values, {count}, DType::float64, device)) == sum);
  }
  const Tensor logits = matrix({1, 3, 2, 5, 5, 0, 0, 0, 9}, {3, 3});
  CHECK(ops::count_correct(logits, labels_of({1, 0, 0})) == 2);
  CHECK(ops::count_correct(logits, labels_of({1, 1, 2})) == 2);
}
