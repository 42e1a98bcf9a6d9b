#include "engine/tensor/ops.hpp"

#include <cmath>
#include <limits>
#include <vector>

#include "engine/tensor/cpu/products.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using lockstep::test::Approx;
using lockstep::test::contains;
using ops::Transpose;

namespace {

CpuDevice cpu(kernels::LOCKSTEP_TEST_PRODUCTS());

Tensor matrix(std::vector<double> values, Shape shape, DType dtype = DType::float64) {
  return from_values(values, std::move(shape), dtype, cpu);
}
Tensor labels_of(std::vector<double> values) {
  const auto count = static_cast<std::int64_t>(values.size());
  return from_values(values, {count}, DType::int64, cpu);
}
std::vector<double> doubles_of(const Tensor& tensor) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < tensor.numel(); ++i) values.push_back(tensor.item(i));
  return values;
}

}  // namespace

TEST_CASE("matmul of tensors: the four transpositions of one small product") {
  const Tensor a = matrix({1, 2, 3, 4, 5, 6}, {2, 3}), at = matrix({1, 4, 2, 5, 3, 6}, {3, 2});
  const Tensor b = matrix({1, 0, 2, 1, 0, 3}, {3, 2}), bt = matrix({1, 2, 0, 0, 1, 3}, {2, 3});
  const std::vector<double> c = {5, 11, 14, 23};
  CHECK(doubles_of(ops::matmul(a, Transpose::no, b, Transpose::no)) == c);
  CHECK(doubles_of(ops::matmul(at, Transpose::yes, b, Transpose::no)) == c);
  CHECK(doubles_of(ops::matmul(a, Transpose::no, bt, Transpose::yes)) == c);
  CHECK(doubles_of(ops::matmul(at, Transpose::yes, bt, Transpose::yes)) == c);
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
  CHECK(doubles_of(ops::add(a, b)) == std::vector<double>{6, 4, 7, 12});
  CHECK(doubles_of(ops::multiply(a, b)) == std::vector<double>{5, -12, 0, 32});
  CHECK(doubles_of(ops::subtract(a, b)) == std::vector<double>{-4, -8, -7, -4});
  CHECK(doubles_of(ops::scale(a, -2)) == std::vector<double>{-2, 4, 0, -8});
  CHECK(ops::sum(a).item() == 3);
  CHECK(doubles_of(ops::activate(a, ops::Activation::relu)) == std::vector<double>{1, 0, 0, 4});
  CHECK(doubles_of(ops::activate_backward(b, a, ops::Activation::relu)) ==
        std::vector<double>{5, 0, 0, 8});
  CHECK_THROWS_WITH(ops::add(a, b.view({4})), contains("[2, 2] and [4] do not broadcast"));
  CHECK_THROWS_AS(ops::multiply(a, matrix({1, 2, 3, 4}, {2, 2}, DType::float32)), ContractError);
}

TEST_CASE("activations: a NaN stays a NaN") {
  const Tensor x = matrix({std::numeric_limits<double>::quiet_NaN()}, {1});
  const Tensor x32 = matrix({std::numeric_limits<double>::quiet_NaN()}, {1}, DType::float32);
  for (const auto activation : {ops::Activation::relu, ops::Activation::gelu, ops::Activation::silu,
                                ops::Activation::tanh, ops::Activation::sigmoid}) {
    CAPTURE(ops::name_of(activation));
    CHECK(std::isnan(ops::activate(x, activation).item()));
    CHECK(std::isnan(ops::activate(x32, activation).item()));
  }
}

TEST_CASE("activations: their slopes are right where the values are extreme") {
  for (const DType dtype : {DType::float32, DType::float64}) {
    const Tensor one = full({1}, 1, dtype, cpu);
    for (const double x : {-1e15, -1e6, -20.0}) {
      const Tensor at = matrix({x}, {1}, dtype);
      CAPTURE(x);
      CHECK(std::abs(ops::activate_backward(one, at, ops::Activation::gelu).item()) < 1e-30);
    }
    CHECK(ops::activate_backward(one, matrix({1e15}, {1}, dtype), ops::Activation::gelu).item() ==
          1);
  }
  const double infinity = std::numeric_limits<double>::infinity();
  CHECK(ops::activate_backward(matrix({infinity}, {1}), matrix({-1}, {1}), ops::Activation::relu)
            .item() == 0);
}

TEST_CASE("broadcasting: sizes of 1 and missing axes repeat, and sum_to is its adjoint") {
  const Tensor x = matrix({1, 2, 3, 4, 5, 6}, {2, 3});
  CHECK(doubles_of(ops::add(x, matrix({10, 20, 30}, {3}))) ==
        std::vector<double>{11, 22, 33, 14, 25, 36});
  CHECK(doubles_of(ops::subtract(matrix({10, 20}, {2, 1}), x)) ==
        std::vector<double>{9, 8, 7, 16, 15, 14});
  CHECK(doubles_of(ops::multiply(matrix({2}, {1}), x)) == std::vector<double>{2, 4, 6, 8, 10, 12});
  const Tensor outer = ops::add(matrix({1, 2}, {2, 1, 1}), matrix({10, 20, 30}, {3, 1}));
  CHECK(outer.shape() == Shape{2, 3, 1});
  CHECK(doubles_of(outer) == std::vector<double>{11, 21, 31, 12, 22, 32});
  CHECK(doubles_of(ops::add(matrix({1}, {}), matrix({2}, {}))) == std::vector<double>{3});
  CHECK(ops::add(x.narrow(0, 0), matrix({1, 1, 1}, {3})).shape() == Shape{0, 3});

  CHECK(doubles_of(ops::sum_to(x, {3})) == std::vector<double>{5, 7, 9});
  CHECK(doubles_of(ops::sum_to(x, {2, 1})) == std::vector<double>{6, 15});
  CHECK(doubles_of(ops::sum_to(x.view({2, 3, 1}), {1, 3, 1})) == std::vector<double>{5, 7, 9});
  CHECK_THROWS_AS(ops::sum_to(x, {2}), ContractError);
}

TEST_CASE("rearranging: transpose, narrow, widen and concatenate move every element") {
  const Tensor x = matrix({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, {2, 3, 2});
  CHECK(doubles_of(ops::transpose(x, 0, 1)) ==
        std::vector<double>{1, 2, 7, 8, 3, 4, 9, 10, 5, 6, 11, 12});
  CHECK(doubles_of(ops::transpose(x, 2, 0)) ==
        std::vector<double>{1, 7, 3, 9, 5, 11, 2, 8, 4, 10, 6, 12});
  CHECK(doubles_of(ops::narrow(x, 1, 1, 2)) == std::vector<double>{3, 4, 5, 6, 9, 10, 11, 12});
  CHECK(doubles_of(ops::widen(matrix({1, 2}, {2, 1}), 1, 1, 3)) ==
        std::vector<double>{0, 1, 0, 0, 2, 0});
  const std::vector<Tensor> parts = {ops::narrow(x, 1, 0, 1), ops::narrow(x, 1, 1, 2)};
  CHECK(doubles_of(ops::concatenate(parts, 1)) == doubles_of(x));
  CHECK_THROWS_WITH(ops::concatenate(parts, 0), contains("only axis 0 may differ"));
  CHECK_THROWS_AS(ops::narrow(x, 1, 2, 2), ContractError);
  CHECK_THROWS_AS(ops::transpose(x, 0, 3), ContractError);
}

TEST_CASE("embedding: rows come and their gradients return, added where an index repeats") {
  const Tensor table = matrix({1, 2, 3, 4, 5, 6}, {3, 2});
  const Tensor indices = labels_of({2, 0, 2});
  CHECK(doubles_of(ops::embedding(table, indices)) == std::vector<double>{5, 6, 1, 2, 5, 6});
  CHECK(doubles_of(ops::embedding_backward(matrix({1, 2, 3, 4, 5, 6}, {3, 2}), indices, 3)) ==
        std::vector<double>{3, 4, 0, 0, 6, 8});
  CHECK_THROWS_WITH(ops::embedding(table, labels_of({3})), contains("the table's 3 rows"));
  CHECK_THROWS_WITH(ops::embedding_backward(matrix({1, 2}, {1, 2}), labels_of({5}), 3),
                    contains("index 5"));
}

TEST_CASE("dropout: a sample's mask is the same on any layout of ranks, and keeps the mean") {
  const Tensor ones = full({4, 1000}, 1, DType::float64, cpu);
  const auto whole = doubles_of(ops::dropout(ones, {0.25, 7, 0, 1}));
  for (const int rank : {0, 1}) {  // two ranks, samples dealt out in turn
    const auto mine = doubles_of(ops::dropout(ones.narrow(0, 2), {0.25, 7, rank, 2}));
    for (std::size_t i = 0; i < 2000; ++i) {
      const std::size_t sample = static_cast<std::size_t>(rank) + 2 * (i / 1000);
      if (mine[i] != whole[sample * 1000 + i % 1000]) FAIL("rank " << rank << ", element " << i);
    }
  }
  double kept = 0;
  for (const double value : whole) {
    CHECK((value == 0 || value == 1 / 0.75));
    kept += value;
  }
  // 4000 draws: the mean deviates by 0.009; this is four of them.
  CHECK(std::abs(kept / 4000 - 1) < 0.037);
  CHECK(doubles_of(ops::dropout(ones, {0.25, 8, 0, 1})) != whole);
  // The second half of the first sample, by itself.
  const auto later = doubles_of(ops::dropout(full({1, 500}, 1, DType::float64, cpu),
                                             {.rate = 0.25, .seed = 7, .first_element = 500}));
  CHECK(std::equal(later.begin(), later.end(), whole.begin() + 500));
  CHECK_THROWS_AS(ops::dropout(ones, {1.0, 7, 0, 1}), ContractError);
}

TEST_CASE("linear: no inputs give zeros, and no rows none") {
  CHECK(doubles_of(ops::linear(zeros({5, 0}, DType::float64, cpu),
                               zeros({3, 0}, DType::float64, cpu))) == std::vector<double>(15, 0));
  CHECK(ops::linear(zeros({2, 0, 4}, DType::float64, cpu), zeros({3, 4}, DType::float64, cpu))
            .shape() == Shape{2, 0, 3});
}

TEST_CASE("rows: add_row_ adds to each, sum_rows adds them up in order") {
  const Tensor x = matrix({1, 2, 3, 4, 5, 6}, {3, 2});
  const Tensor y = x.clone();
  ops::add_row_(y, matrix({10, 20}, {2}));
  CHECK(doubles_of(y) == std::vector<double>{11, 22, 13, 24, 15, 26});
  CHECK(doubles_of(ops::sum_rows(x)) == std::vector<double>{9, 12});
  CHECK(doubles_of(ops::sum_rows(x.narrow(0, 0))) == std::vector<double>{0, 0});
  // In order: (1 + 2^53) - 2^53 loses the one, any other grouping keeps it.
  CHECK(ops::sum_rows(matrix({1, 0x1p53, -0x1p53}, {3, 1})).item() == 0);
  CHECK_THROWS_AS(ops::add_row_(x, matrix({1, 2, 3}, {3})), ContractError);
}

TEST_CASE("cross entropy: equal logits cost log C, and the gradient is (p - onehot)/B") {
  for (const DType dtype : {DType::float32, DType::float64}) {
    const Tensor logits = zeros({2, 4}, dtype, cpu);
    const auto [loss, p] = ops::cross_entropy(logits, labels_of({1, 3}));
    CHECK(loss.shape() == Shape{1});
    CHECK(loss.item() == Approx(std::log(4.0)));
    CHECK(doubles_of(p) == std::vector<double>(8, 0.25));
    const Tensor grad =
        ops::cross_entropy_backward(full({1}, 2, p.dtype(), cpu), p, labels_of({1, 3}));
    CHECK(doubles_of(grad) == std::vector<double>{.25, -.75, .25, .25, .25, .25, .25, -.75});
  }
}

TEST_CASE("cross entropy: ignored labels count for nothing, and the sum is not divided") {
  const Tensor logits = matrix({1, 2, 3, 3, 2, 1, 9, 9, 0}, {3, 3});
  const Tensor labels = labels_of({0, 2, -100});
  const double terms = ops::cross_entropy(logits, labels, {ops::Reduction::sum}).loss.item();
  const auto [loss, p] = ops::cross_entropy(logits, labels);
  CHECK(terms == Approx(2 * (2 + std::log(1 + std::exp(-1.0) + std::exp(-2.0)))));
  CHECK(loss.item() == Approx(terms / 2));
  const auto grad =
      doubles_of(ops::cross_entropy_backward(full({1}, 1, p.dtype(), cpu), p, labels));
  CHECK(std::vector(grad.begin() + 6, grad.end()) == std::vector<double>{0, 0, 0});
  CHECK(grad[0] == Approx((p.item(0) - 1) / 2));
  const Tensor none = labels_of({-100, -100, -100});
  CHECK_THROWS_AS(ops::cross_entropy(logits, none), ContractError);
  for (const std::vector<double>& one : {std::vector<double>{1, -100, -100}, {-100, -100, 1}}) {
    CHECK(ops::cross_entropy(logits, labels_of(one)).loss.item() > 0);
  }
  CHECK(ops::cross_entropy(logits, none, {ops::Reduction::sum}).loss.item() == 0);
}

TEST_CASE("cross entropy: logits of a million do not overflow") {
  const Tensor logits = matrix({1e6, 0, -1e6, 1e6}, {2, 2}, DType::float32);
  const auto [loss, p] = ops::cross_entropy(logits, labels_of({0, 0}));
  CHECK(loss.item() == Approx(1e6));
  CHECK(doubles_of(p) == std::vector<double>{1, 0, 0, 1});
}

TEST_CASE("cross entropy: labels outside the classes, too few, or no batch are refused") {
  const Tensor logits = zeros({2, 4}, DType::float32, cpu);
  CHECK_THROWS_WITH(ops::cross_entropy(logits, labels_of({0, 4})), contains("label 4 of row 1"));
  CHECK_THROWS_AS(ops::cross_entropy(logits, labels_of({0, -1})), ContractError);
  CHECK_THROWS_AS(ops::cross_entropy(logits, labels_of({0})), ContractError);
  CHECK_THROWS_AS(ops::cross_entropy(logits.narrow(0, 0), labels_of({})), ContractError);
}

TEST_CASE("sum of squares is accumulated in float64, count_correct takes the first largest") {
  CHECK(ops::sum_of_squares(std::vector{full({3}, 1e4F + 1, DType::float32, cpu)}).item() ==
        3.0 * 10001 * 10001);
  CHECK(ops::sum_of_squares(std::vector{zeros({0}, DType::float64, cpu)}).item() == 0);
  for (const std::int64_t count : {1, 15, 16, 17, 1009}) {  // squares of 1 … count, exact
    std::vector<double> values;
    for (std::int64_t i = 1; i <= count; ++i) values.push_back(static_cast<double>(i));
    const auto sum = static_cast<double>(count * (count + 1) * (2 * count + 1) / 6);
    CHECK(ops::sum_of_squares(std::vector{from_values(values, {count}, DType::float32, cpu)})
              .item() == sum);
    CHECK(ops::sum_of_squares(std::vector{from_values(values, {count}, DType::float64, cpu)})
              .item() == sum);
  }
  const Tensor logits = matrix({1, 3, 2, 5, 5, 0, 0, 0, 9}, {3, 3});
  CHECK(ops::count_correct(logits, labels_of({1, 0, 0})) == 2);
  CHECK(ops::count_correct(logits, labels_of({1, 1, 2})) == 2);
  CHECK(ops::count_correct(logits, labels_of({1, -100, 2})) == 2);
  CHECK_THROWS_WITH(ops::count_correct(logits, labels_of({1, -1, 2})),
                    contains("count_correct: label -1 of row 1"));
}
