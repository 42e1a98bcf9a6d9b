// Cases of kernels that look for faults: bytes, indices and numbers that are checked.
#include <cmath>
#include <limits>
#include <vector>

#include "tests/gpu/kernel_cases.hpp"
#include "tests/gpu/programs.hpp"

namespace lockstep::test {

void check_checksums(OnPaper& paper) {
  CpuDevice cpu;
  for (const std::int64_t count : {1, 8, 16, 24, 8203, 8208, 8216, 8224, 16411}) {
    const Tensor here = noise({count + 3}, DType::uint8, cpu);
    const Tensor there = to_device(here, paper.device());
    const std::vector<Tensor> near{here, here.narrow(3, count), here.narrow(0, count)};
    const std::vector<Tensor> away{there, there.narrow(3, count), there.narrow(0, count)};
    CHECK(checksums_of(away) == checksums_of(near));
  }
  CHECK(paper.findings() == "");
}

// The first fault is told, whichever lane sees it, and however many come behind it.
void check_faults(OnPaper& paper) {
  Device& device = paper.device();
  const Tensor table = full({9, 2}, 1, DType::float32, device);
  for (const int place : {0,   1,   2,   4,   5,   8,   16,  31,  32,  64,   100,  127,  255,
                          256, 261, 356, 511, 517, 612, 700, 773, 868, 1029, 1124, 1285, 1299}) {
    for (const int wrong : {9, -1, 1 << 30}) {
      std::vector<double> indices(1300, 8);
      std::fill(indices.begin() + place, indices.end(), wrong + (wrong > 0 ? 1 : -1));
      indices[static_cast<std::size_t>(place)] = wrong;
      const Tensor rows = ops::embedding(table, integers(indices, device));
      CHECK_THROWS_WITH(to_host(rows), contains(text("index ", wrong, " ")));
    }
  }
  CHECK_NOTHROW(to_host(ops::embedding(table, drawn_indices(300, 9, device))));
  const Tensor logits = full({300, 3}, 1, DType::float32, device);
  for (const std::size_t used : {0, 1, 2, 4, 8, 16, 32, 64, 128, 255, 256, 299}) {
    std::vector<double> labels(300, -100);
    labels[used] = 2;
    CHECK_NOTHROW(to_host(ops::cross_entropy(logits, integers(labels, device)).loss));
  }
  // A label that is one too large, in each of a thread's turns: of five, of four and of eight.
  for (const auto& [rows, place] : {std::pair<std::int64_t, std::size_t>{1300, 5},
                                    {1300, 261},
                                    {1300, 517},
                                    {1300, 773},
                                    {1300, 1029},
                                    {1024, 255},
                                    {2048, 1100}}) {
    std::vector<double> labels(static_cast<std::size_t>(rows), 1);
    labels[place] = 2;
    const Tensor wrong = integers(labels, device), two = full({rows, 2}, 1, DType::float32, device);
    CHECK_THROWS_WITH(to_host(ops::cross_entropy(two, wrong).loss),
                      contains(text("label 2 of row ", place, " ")));
    CHECK_THROWS_WITH(to_host(ops::embedding(full({2, 2}, 1, DType::float32, device), wrong)),
                      contains("index 2 "));
  }
  const Tensor ignored = full({300}, -100, DType::int64, device);
  const Tensor loss = ops::cross_entropy(logits, ignored).loss;
  CHECK_THROWS_WITH(to_host(loss), contains("the mean of an empty batch"));
  CHECK(paper.findings() == "");
}

namespace {

// Bits of a number, its sign left out.
int digits_of(DType dtype) {
  return visit_dtype(dtype, []<typename T>() {
    if constexpr (std::is_integral_v<T>) {
      return std::numeric_limits<T>::digits;
    } else {
      return 1 - std::ilogb(unit_of(DTypeOf<T>::value));
    }
  });
}

// Of what one type has, the last numbers that another can hold, and those next to them that it
// cannot.
struct Ends {
  double least, largest;
  std::vector<double> outside;
};

Ends ends_of(DType to, DType from) {
  const double beyond = std::ldexp(1, digits_of(to)), under = to == DType::uint8 ? 0 : -beyond;
  if (is_integer(from)) {
    const double most = std::ldexp(1, digits_of(from)) - 1,
                 least = from == DType::uint8 ? 0 : -most - 1;
    Ends ends{std::max(under, least), std::min(beyond - 1, most), {}};
    if (least < under) ends.outside.push_back(under - 1);
    if (most >= beyond) ends.outside.push_back(beyond);
    return ends;
  }
  if (from == DType::float16 && beyond > 65'504) {
    const double infinity = std::numeric_limits<double>::infinity();
    return {-65'504, 65'504, {-infinity, infinity}};
  }
  // How far apart numbers of `from` are before the upper end, and behind the lower one.
  const double before = std::ldexp(1, digits_of(to) - digits_of(from));
  const double behind = to == DType::uint8 ? std::ldexp(1, -digits_of(from)) : 2 * before;
  // A fraction is cut off: what is less than one outside still fits.
  if (behind < 1) return {under - 1 + behind, beyond - before, {under - 1, beyond}};
  return {under, beyond - before, {under - behind, beyond}};
}

}  // namespace

// The numbers next to both ends of a type, on either side of them. Of many that do not fit, the
// first is told.
void check_conversions(DType from, OnPaper& paper) {
  Device& device = paper.device();
  for (const DType to : {DType::uint8, DType::int8, DType::int32, DType::int64}) {
    if (to == from) continue;
    CAPTURE(name_of(to));
    const auto [least, largest, outside] = ends_of(to, from);
    const Tensor x = full({1300}, largest, from, device);
    x.narrow(500, 300).fill_(least);
    CHECK(too_far(to_host(x.to(to)), to_host(x).to(to), same_bits) == "");
    for (std::size_t i = 0; i < outside.size(); ++i) {
      x.narrow(200, 900).fill_(outside[outside.size() - 1 - i]);
      x.narrow(200, 1).fill_(outside[i]);
      CHECK_THROWS_WITH(to_host(x.to(to)), contains(text(outside[i], " ")));
    }
  }
  CHECK(paper.findings() == "");
}

// What follows the check has been launched, too.
void check_outside(OnPaper& paper) {
  Device& device = paper.device();
  for (const double wrong : {-1.0, 3.0}) {
    for (const std::int64_t columns : {3, 1100}) {
      const double limit = wrong < 0 ? wrong : static_cast<double>(columns);
      const Tensor table = full({columns, 130}, 1, DType::float32, device);
      const Tensor logits = full({2, columns}, 1, DType::float32, device);
      const Tensor numbers = integers({0, limit}, device);
      const Tensor rows = ops::embedding(table, numbers);
      const Tensor table_grad = ops::embedding_backward(rows, numbers, columns);
      const auto [loss, probabilities] = ops::cross_entropy(logits, numbers);
      const Tensor grad =
          ops::cross_entropy_backward(full({1}, 1, DType::float32, device), probabilities, numbers);
      const ops::ColumnSplit split{0, columns, columns};
      const Tensor most = ops::row_maximum(logits, split);
      const Tensor sum = ops::sum_of_exponentials(logits, most, split);
      const Tensor of_split = ops::split_cross_entropy_backward(
          full({1}, 1, DType::float32, device), logits, most, sum, numbers, split);
      ops::embedding(full({columns, 2}, 1, DType::float32, device),
                     full({1300}, limit, DType::int64, device));
      CHECK_THROWS_AS(ops::count_correct(logits, numbers), ContractError);
      CHECK(number_of(rows, 131) == 0);
      CHECK(number_of(table_grad, 131) == 0);
      CHECK(number_of(grad, columns) == 0);
      CHECK(number_of(grad, columns + 1) == 0);
      CHECK(number_of(of_split, columns) == 0);
      CHECK(number_of(of_split, columns + 1) == 0);
    }
  }
  CHECK(paper.findings() == "");
}

}  // namespace lockstep::test
