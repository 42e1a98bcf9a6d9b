// Matrices that travel as two thin ones.
#include "engine/parallel/compress/power_sgd.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/parallel/compress/low_rank.hpp"
#include "engine/parallel/compress/mean.hpp"
#include "tests/compress/fixtures.hpp"
#include "tests/train/fiber_ranks.hpp"

using namespace lockstep;
using lockstep::test::any_ranks;
using lockstep::test::contains;
using lockstep::test::integers_of;
using lockstep::test::Values;

namespace {

constexpr std::int64_t rows = 12, columns = 9;
constexpr std::int64_t entries = rows * columns;

// Row by row Σ_k (k + 1) · u_k(i) · v_k(j), of that rank unless it is 0.
Values matrix_of_rank(int rank, int salt = 0) {
  Values values(static_cast<std::size_t>(entries));
  for (int k = 0; k < rank; ++k) {
    for (std::int64_t e = 0; e < entries; ++e) {
      const double u = std::sin(static_cast<double>(e / columns * (k + 1) + salt) + k);
      const double v = std::cos(static_cast<double>(e % columns) * (0.7 + k) + salt);
      values[static_cast<std::size_t>(e)] += static_cast<float>((k + 1) * u * v);
    }
  }
  return values;
}

double norm_of(const Values& values) {
  double squares = 0;
  for (const float x : values) squares += static_cast<double>(x) * static_cast<double>(x);
  return std::sqrt(squares);
}

double distance(const Values& one, const Values& other) {
  Values difference(one.size());
  std::ranges::transform(one, other, difference.begin(), std::minus());
  return norm_of(difference);
}

using Gives = std::function<Values(int rank, int pass)>;

// Passes of one bucket with one state a rank.
struct Passes {
  std::vector<Values> results;        // by pass, the same on every rank
  std::vector<Values> residuals, qs;  // by rank, at the end
  std::vector<std::int64_t> sent;     // bytes, by pass
};

Passes run_passes(int ranks, int passes, const compress::PowerSgdOptions& options,
                  const std::vector<Shape>& shapes, const Gives& gives) {
  Passes all;
  all.residuals.resize(static_cast<std::size_t>(ranks));
  all.qs = all.residuals;
  test::on_fibers(ranks, [&](comm::ProcessGroup& group) {
    CpuDevice device;
    compress::LowRankState state;
    for (int pass = 0; pass < passes; ++pass) {
      const Tensor flat = test::tensor_of(gives(group.rank(), pass), device);
      if (pass == 0) state.residual = zeros({flat.numel()}, DType::float32, device);
      const std::int64_t before = group.traffic().bytes_sent;
      compress::power_sgd_reduce(group, test::bucket_of(flat, shapes), state, options, pass).wait();
      const auto at = static_cast<std::size_t>(pass);
      if (all.results.size() <= at) {
        all.results.push_back(test::values_of(flat));
        all.sent.push_back(group.traffic().bytes_sent - before);
      }
      LOCKSTEP_EXPECT(test::same_bits(test::values_of(flat), all.results[at]));
    }
    all.residuals[static_cast<std::size_t>(group.rank())] = test::values_of(state.residual);
    all.qs[static_cast<std::size_t>(group.rank())] = test::values_of(state.qs);
  });
  return all;
}

// The mean over the ranks has rank `rank`, while every rank's own has more: what is beside it
// cancels over the ranks.
Values beside_the_mean(int of_rank, int ranks, int rank) {
  Values values = matrix_of_rank(rank);
  const Values other = matrix_of_rank(7, 3);
  const float weight =
      static_cast<float>(2 * of_rank - (ranks - 1));  // sums to 0, and integer: no rounding here
  for (std::size_t i = 0; i < values.size(); ++i) values[i] += weight * other[i];
  return values;
}

}  // namespace

TEST_CASE(
    "power sgd: a mean gradient of rank r or less comes out, whatever the ranks have beside it") {
  const int ranks = any_ranks();
  for (const int rank : {1, 2, 3}) {
    for (int of_mean = 0; of_mean <= rank; ++of_mean) {
      CAPTURE(ranks, rank, of_mean);
      const auto seen =
          run_passes(ranks, 1, {.rank = rank, .compression_min = 1}, {{rows, columns}},
                     [&](int r, int) { return beside_the_mean(r, ranks, of_mean); });
      // float32 holds P, Q and the ranks' gradients with 2^-24; those beside the mean are up to
      // 12 times 7·8/2 = 28 large, and G·Q adds 9 of them.
      const double tolerance = std::ldexp(28.0 * 13 * 9, -24) * 2;
      CHECK(distance(seen.results[0], matrix_of_rank(of_mean)) < tolerance * rows);
    }
  }
}

TEST_CASE(
    "power sgd: over 30 passes, what was sent plus what is left is the sum of all gradients") {
  const int ranks = any_ranks();
  const Gives gives = [](int rank, int pass) { return integers_of(rank, entries, pass); };
  const auto seen =
      run_passes(ranks, 30, {.rank = 2, .compression_min = 1}, {{rows, columns}}, gives);
  for (std::size_t i = 0; i < static_cast<std::size_t>(entries); ++i) {
    double balance = 0, size = 0;
    for (const Values& result : seen.results) balance += static_cast<double>(result[i]) * ranks;
    for (const Values& left : seen.residuals) {
      balance += static_cast<double>(left[i]);
      size = std::max(size, std::abs(static_cast<double>(left[i])));
    }
    for (int r = 0; r < ranks; ++r) {
      for (int pass = 0; pass < 30; ++pass) balance -= static_cast<double>(gives(r, pass)[i]);
    }
    CAPTURE(ranks, i, size);
    // A pass rounds acc and acc - P·Qᵀ on each rank: 2 · 30 · N roundings of numbers that are at
    // most 30 · 50 large.
    CHECK(std::abs(balance) < std::ldexp(2.0 * 30 * ranks * 1500, -24));
  }
}

TEST_CASE("power sgd: a gradient that stays comes through over the passes") {
  const Values constant = matrix_of_rank(6);
  const auto seen = run_passes(3, 60, {.rank = 1, .compression_min = 1}, {{rows, columns}},
                               [&](int, int) { return constant; });
  Values mean(constant.size());
  for (const Values& result : seen.results) {
    for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += result[i] / 60;
  }
  CHECK(distance(seen.results[0], constant) > 0.3 * norm_of(constant));  // rank 1 of 6
  CHECK(distance(mean, constant) < 0.1 * norm_of(constant));
}

TEST_CASE("power sgd: Q is the same on every rank and goes on where it was") {
  const Values constant = matrix_of_rank(4);
  const auto seen = run_passes(4, 1, {.rank = 2, .compression_min = 1}, {{rows, columns}},
                               [&](int rank, int) { return beside_the_mean(rank, 4, 4); });
  for (const Values& qs : seen.qs) CHECK(test::same_bits(qs, seen.qs[0]));
  // Subspace iteration: without feedback, the second pass of the same matrix is closer. With it,
  // the largest part grows by what was left out, so the residuals are taken away here.
  std::vector<double> errors;
  test::on_fibers(1, [&](comm::ProcessGroup& group) {
    CpuDevice device;
    compress::LowRankState state;
    for (int pass = 0; pass < 6; ++pass) {
      const Tensor flat = test::tensor_of(constant, device);
      state.residual = zeros({entries}, DType::float32, device);
      compress::power_sgd_reduce(group, test::bucket_of(flat, {{rows, columns}}), state,
                                 {.rank = 2, .compression_min = 1}, pass)
          .wait();
      errors.push_back(distance(test::values_of(flat), constant));
    }
  });
  for (std::size_t i = 1; i < errors.size(); ++i) CHECK(errors[i] <= errors[i - 1] * (1 + 1e-5));
  CHECK(errors.back() < 0.98 * errors.front());
}

TEST_CASE("power sgd: what was zero in one pass is compressed in the next") {
  const auto seen = run_passes(2, 3, {.rank = 2, .compression_min = 1}, {{rows, columns}},
                               [&](int, int pass) { return matrix_of_rank(pass == 0 ? 0 : 2); });
  CHECK(norm_of(seen.results[0]) == 0);
  CHECK(distance(seen.results[1], matrix_of_rank(2)) < 1e-4);
  CHECK(distance(seen.results[2], matrix_of_rank(2)) < 1e-4);
}

TEST_CASE("power sgd: a NaN or an infinity makes its matrix NaN on every rank, and nothing else") {
  for (const float bad : {std::nanf(""), std::numeric_limits<float>::infinity()}) {
    const Gives gives = [&](int rank, int pass) {
      Values values = integers_of(rank, 2 * entries + 3, pass);
      if (rank == 1 && pass == 1) values[17] = bad;
      return values;
    };
    const auto seen = run_passes(3, 3, {.rank = 2}, {{rows, columns}, {rows, columns}, {3}}, gives);
    for (std::size_t i = 0; i < static_cast<std::size_t>(2 * entries + 3); ++i) {
      CAPTURE(bad, i);
      CHECK(std::isfinite(seen.results[0][i]));
      CHECK(std::isnan(seen.results[1][i]) == (i < static_cast<std::size_t>(entries)));
      CHECK(std::isnan(seen.results[2][i]) == (i < static_cast<std::size_t>(entries)));
    }
  }
}

TEST_CASE("power sgd: vectors and small matrices travel as they are, without a residual") {
  const std::vector<Shape> shapes{{5}, {rows, columns}, {2, 2}, {}, {0, 3}, {3, 1}};
  const std::int64_t count = 5 + entries + 4 + 1 + 3;
  const int ranks = any_ranks();
  const Gives gives = [&](int rank, int pass) { return test::numbers_of(rank, count, pass); };
  const auto seen = run_passes(ranks, 2, {.rank = 1}, shapes, gives);
  const auto mean = test::reduced(
      ranks, [&](int rank) { return gives(rank, 1); },
      [](comm::ProcessGroup& group, const Tensor& data) {
        compress::mean_reduce(group, data).wait();
      });
  for (std::int64_t i = 0; i < count; ++i) {
    if (i >= 5 && i < 5 + entries) continue;
    const auto k = static_cast<std::size_t>(i);
    CAPTURE(ranks, i);
    CHECK(seen.results[1][k] == mean.values[k]);
    for (const Values& left : seen.residuals) CHECK(left[k] == 0);
  }
  const std::int64_t plain = 5 + 4 + 1 + 3;
  for (const std::int64_t sent : seen.sent) {
    const std::int64_t first = 2 * (ranks - 1) * 4 * (plain + rows) / ranks;
    CHECK(sent == first + 2 * (ranks - 1) * 4 * columns / ranks);
  }
}

TEST_CASE("power sgd: what is worth compressing is what PyTorch's _should_compress says") {
  CHECK_FALSE(compress::is_worth_compressing(4, 4, 1, 2));
  CHECK(compress::is_worth_compressing(5, 5, 1, 2));
  CHECK_FALSE(compress::is_worth_compressing(512, 1, 1, 2));
  CHECK(compress::is_worth_compressing(64, 576, 4, 2));
  CHECK(compress::is_worth_compressing(10, 10, 2, 2));
  CHECK_FALSE(compress::is_worth_compressing(0, 0, 0, 2));
}

TEST_CASE("power sgd: columns become orthonormal, nearly dependent ones too, and zero stays zero") {
  CpuDevice device;
  const Tensor matrix = empty({40, 5}, DType::float32, device);
  const auto values = matrix.data<float>();
  for (std::size_t i = 0; i < 40; ++i) {
    const auto x = static_cast<float>(std::sin(3.0 * static_cast<double>(i) + 1));
    values[5 * i] = 1e-20F * x;
    values[5 * i + 1] = 5 * x + (i == 7 ? 1e-5F : 0);
    values[5 * i + 2] = 0;
    values[5 * i + 3] = static_cast<float>(i) - 17;
    // Nothing but the rounding of float64 is left of it: a direction that only a second pass makes
    // orthogonal.
    values[5 * i + 4] = 3 * values[5 * i + 3];
  }
  compress::orthonormalize(matrix);
  for (std::size_t a = 0; a < 5; ++a) {
    for (std::size_t b = 0; b <= a; ++b) {
      double product = 0;
      for (std::size_t i = 0; i < 40; ++i) {
        product += static_cast<double>(values[5 * i + a]) * static_cast<double>(values[5 * i + b]);
      }
      CAPTURE(a, b);
      // 40 products of numbers that were rounded to float32.
      CHECK(std::abs(product - (a == b && a != 2 ? 1 : 0)) < 40 * std::ldexp(1.0, -24));
    }
  }
}

TEST_CASE("power sgd: the hook reduces the first pass in full, and then in rank r") {
  std::vector<Values> results;
  std::vector<std::int64_t> sent;
  test::on_fibers(2, [&](comm::ProcessGroup& group) {
    CpuDevice device;
    const auto hook = compress::make_power_sgd({.rank = 1});
    for (int pass = 0; pass < 2; ++pass) {
      const Tensor flat = test::tensor_of(integers_of(group.rank(), entries), device);
      const std::int64_t before = group.traffic().bytes_sent;
      hook->start(group, test::bucket_of(flat, {{rows, columns}})).wait();
      if (group.rank() != 0) continue;
      results.push_back(test::values_of(flat));
      sent.push_back(group.traffic().bytes_sent - before);
    }
  });
  for (std::size_t i = 0; i < results[0].size(); ++i) {
    const Values one = integers_of(0, entries), two = integers_of(1, entries);
    CHECK(results[0][i] == (one[i] + two[i]) / 2);
  }
  CHECK(distance(results[1], results[0]) > 1);
  CHECK(sent == std::vector<std::int64_t>{4 * entries, 4 * (rows + columns)});
}

TEST_CASE("power sgd: other ranks of matrices, types and states are refused, with what was seen") {
  CHECK_THROWS_WITH(compress::make_power_sgd({.rank = 0}), contains("matrices of rank 0"));
  const auto error_of = [](std::int64_t left, const Tensor& qs) {
    return test::error_on(1, [&](comm::ProcessGroup& group) {
      CpuDevice device;
      compress::LowRankState state{zeros({left}, DType::float32, device), qs};
      const Tensor flat = test::tensor_of(integers_of(0, entries), device);
      compress::power_sgd_reduce(group, test::bucket_of(flat, {{rows, columns}}), state, {}, 1)
          .wait();
    });
  };
  CpuDevice device;
  CHECK_THAT(error_of(5, {}), contains("a residual of 5 elements for bucket 0 of 108 on rank 0"));
  CHECK_THAT(error_of(entries, zeros({5}, DType::float32, device)),
             contains("the Q of bucket 0 have 5 elements and need 9"));
  CHECK(error_of(entries, {}).empty());
}
