#include "grader/parts/10_compression/power_sgd/oracle.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "engine/base/random.hpp"
#include "grader/judge/compare.hpp"
#include "grader/parts/10_compression/power_sgd/grid.hpp"

namespace lockstep::grader::power_sgd {
namespace {

// The Q that matrix number `index` begins a call with.
Grid first_q(const MatrixSlice& place, std::size_t index, const Numbers& kept, std::int64_t count,
             std::uint64_t seed) {
  Grid q = grid_in(kept, count + place.q_at, place.columns, place.rank);
  for (std::int64_t j = 0; j < q.columns; ++j) {
    bool zero = true;
    for (std::int64_t i = 0; i < q.rows; ++i) zero = zero && q.at(i, j) == 0;
    for (std::int64_t i = 0; zero && i < q.rows; ++i) {
      const auto number = static_cast<std::uint64_t>(i * q.columns + j);
      q.at(i, j) = 2 * random_uniform(random_bits(seed, index), number) - 1;
    }
  }
  return orthonormal(std::move(q));
}

Numbers mean_of(const std::vector<Numbers>& all) {
  Numbers mean(all.front().size());
  for (const Numbers& one : all) {
    for (std::size_t i = 0; i < mean.size(); ++i) {
      mean[i] += one[i] / static_cast<double>(all.size());
    }
  }
  return mean;
}

double norm(const Numbers& values) {
  double squares = 0;
  for (const double x : values) squares += x * x;
  return std::sqrt(squares);
}

// The input of each rank, with what was left before.
std::vector<Numbers> brought_to(const LossySeen& seen, std::size_t call) {
  std::vector<Numbers> all = seen.gradients[call];
  for (int rank = 0; rank < seen.ranks(); ++rank) {
    Numbers& values = all[static_cast<std::size_t>(rank)];
    const Numbers& left = seen.state_before(call, rank);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] += left[i];
  }
  return all;
}

// The seed of a call's Q: of the run's, the pass and the bucket.
std::uint64_t seed_of(std::size_t call, const Problem& p) {
  const auto buckets = static_cast<std::size_t>(p.settings.buckets);
  return random_bits(random_bits(p.settings.seed, call / buckets), call % buckets);
}

// All Q of a call, by matrix.
std::vector<Grid> first_qs(const LossySeen& seen, std::size_t call, const Plan& plan,
                           const Problem& p) {
  std::vector<Grid> qs;
  for (const MatrixSlice& place : plan.places) {
    if (place.rank == 0) continue;
    qs.push_back(
        first_q(place, qs.size(), seen.state_before(call, 0), plan.count, seed_of(call, p)));
  }
  return qs;
}

// The bucket that a call leaves: P·Qᵀ of the mean of each matrix, and the mean elsewhere.
Numbers made_of(const Plan& plan, const std::vector<Grid>& qs, const Numbers& mean) {
  Numbers made = mean;
  std::size_t matrix = 0;
  for (const MatrixSlice& place : plan.places) {
    if (place.rank == 0) continue;
    const Grid grid = grid_in(mean, place.at, place.rows, place.columns);
    const Grid p = orthonormal(product(grid, qs[matrix++]));
    put(made, place.at, product(p, turned(product(turned(grid), p))));
  }
  return made;
}

// P's columns may be nearly dependent, and make rounding errors some hundred times as large. Halves
// are judged on a single column, which a half holds exactly up to its length.
double tolerance_of(const Problem& p, const Numbers& values) {
  if (bytes_of(p.dtype) == 2) return 8 * epsilon_of(p.dtype) * norm(values);
  return (p.dtype == DType::float64 ? 1e6 : 2e4) * epsilon_of(p.dtype) * norm(values);
}

// True if the sum over the ranks of P, of Q, or of what is not compressed, is too large for the
// type.
bool sums_overflow(const Plan& plan, const std::vector<Grid>& qs, const Numbers& mean, double ranks,
                   DType dtype) {
  const auto too_large = [&](const Numbers& values) {
    return std::ranges::any_of(values,
                               [&](double value) { return is_too_large(value * ranks, dtype); });
  };
  std::size_t matrix = 0;
  for (const MatrixSlice& place : plan.places) {
    const Grid grid = grid_in(mean, place.at, place.rows, place.columns);
    if (place.rank == 0) {
      if (too_large(grid.values)) return true;
      continue;
    }
    const Grid p = product(grid, qs[matrix++]);
    if (too_large(p.values) || too_large(product(turned(grid), orthonormal(p)).values)) return true;
  }
  return false;
}

}  // namespace

Plan plan_of(const PowerSgdSettings& settings) {
  Plan plan;
  for (const auto& sizes : settings.shapes) {
    MatrixSlice place{.at = plan.count, .rows = sizes.front(), .columns = 1};
    for (std::size_t axis = 1; axis < sizes.size(); ++axis) place.columns *= sizes[axis];
    const std::int64_t rank = std::min({place.rows, place.columns, settings.rank});
    const auto thin = static_cast<double>((place.rows + place.columns) * rank);
    if (thin * settings.compression_min < static_cast<double>(place.count())) {
      place.rank = rank;
      place.q_at = plan.q_count;
      plan.p_count += place.rows * rank;
      plan.q_count += place.columns * rank;
    } else {
      plan.plain += place.count();
    }
    plan.count += place.count();
    plan.places.push_back(place);
  }
  return plan;
}

Right right_bucket(const LossySeen& seen, std::size_t call, const Problem& p) {
  const Plan plan = plan_of(p.settings);
  const std::vector<Grid> qs = first_qs(seen, call, plan, p);
  const Numbers mean = mean_of(brought_to(seen, call));
  Right right{
      .name = text("P·Qᵀ in rank ", p.settings.rank, " (the mean, where nothing is compressed)"),
      .values = made_of(plan, qs, mean)};
  right.tolerance.assign(right.values.size(), tolerance_of(p, mean));
  right.allowed = text("products of ", name_of(p.dtype), " round");
  right.mistakes = mistakes_of_mean(seen, call, right.values);
  if (sums_overflow(plan, qs, mean, seen.ranks(), p.dtype)) {
    right.not_finite = overflowing_sum(seen.ranks(), p.dtype);
  }
  const bool first = call < static_cast<std::size_t>(p.settings.buckets);
  right.otherwise = {
      "other_values",
      text("all ranks begin with one Q, ",
           first ? "made of random_bits(random_bits(seed, pass), bucket)"
                 : "that of the pass before",
           "; P is the mean of G·Q over the ranks, and made orthonormal after that alone; Q is the "
           "mean of Gᵀ·P; G is the gradient plus the residual, at its place of the bucket")};
  return right;
}

Right right_residual(const LossySeen& seen, std::size_t call, int rank, const Problem& p) {
  const Plan plan = plan_of(p.settings);
  const std::vector<Numbers> all = brought_to(seen, call);
  const Numbers mean = mean_of(all), &mine = all[static_cast<std::size_t>(rank)];
  const Numbers made = made_of(plan, first_qs(seen, call, plan, p), mean);
  const std::size_t count = seen.state_before(call, rank).size();
  const auto at_q = static_cast<std::size_t>(plan.count);
  Right right{.name = "gradient plus residual without P·Qᵀ (zero, where nothing is compressed)",
              .values = Numbers(count),
              .tolerance = Numbers(count, std::numeric_limits<double>::infinity()),
              .allowed = text("products of ", name_of(p.dtype), " round"),
              .judged_elsewhere = at_q,
              .otherwise = {"other_residual",
                            "it must hold gradient plus residual without P·Qᵀ, and zero where "
                            "nothing is compressed"}};
  for (const MatrixSlice& place : plan.places) {
    const double allowed = place.rank > 0 ? tolerance_of(p, mean) + tolerance_of(p, mine) : 0;
    for (auto k = static_cast<std::size_t>(place.at); std::cmp_less(k, place.at + place.count());
         ++k) {
      right.values[k] = place.rank > 0 ? mine[k] - made[k] : 0;
      right.tolerance[k] = allowed;
    }
  }
  return right;
}

double outside_span(const LossySeen& seen, std::size_t call, const MatrixSlice& place,
                    std::int64_t count) {
  const Grid made = grid_in(seen.results[call].front(), place.at, place.rows, place.columns);
  const Grid q = orthonormal(
      grid_in(seen.states[call].front(), count + place.q_at, place.columns, place.rank));
  Numbers left = product(product(made, q), turned(q)).values;
  for (std::size_t i = 0; i < left.size(); ++i) left[i] -= made.values[i];
  return norm(left);
}

double span_tolerance(const LossySeen& seen, std::size_t call, const Problem& p) {
  return tolerance_of(p, mean_of(brought_to(seen, call)));
}

}  // namespace lockstep::grader::power_sgd
