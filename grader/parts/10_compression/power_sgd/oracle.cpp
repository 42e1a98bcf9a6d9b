#include "grader/parts/10_compression/power_sgd/oracle.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

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

// The input of each rank, with what was left and without.
struct Brought {
  std::vector<Numbers> whole, fresh;
};
Brought brought_to(const LossySeen& seen, std::size_t call) {
  Brought all;
  for (int rank = 0; rank < seen.ranks(); ++rank) {
    Numbers values = seen.gradients[call][static_cast<std::size_t>(rank)];
    all.fresh.push_back(values);
    const Numbers& left = seen.state_before(call, rank);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] += left[i];
    all.whole.push_back(std::move(values));
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
                           std::uint64_t seed) {
  std::vector<Grid> qs;
  for (const MatrixSlice& place : plan.places) {
    if (place.rank == 0) continue;
    qs.push_back(first_q(place, qs.size(), seen.state_before(call, 0), plan.count, seed));
  }
  return qs;
}

// The bucket that `of_matrix` makes of `mean`: a function of the mean of a matrix and its Q.
Numbers made_of(const Plan& plan, const std::vector<Grid>& qs, const Numbers& mean, double of_plain,
                const auto& of_matrix) {
  Numbers made = mean;
  for (double& value : made) value *= of_plain;
  std::size_t matrix = 0;
  for (const MatrixSlice& place : plan.places) {
    if (place.rank == 0) continue;
    const Grid grid = grid_in(mean, place.at, place.rows, place.columns);
    put(made, place.at, of_matrix(place, grid, qs[matrix++]));
  }
  return made;
}

Grid approximation(const MatrixSlice&, const Grid& mean, const Grid& q) {
  const Grid p = orthonormal(product(mean, q));
  return product(p, turned(product(turned(mean), p)));
}

// The product of the mean's Q with the P of one rank, and of the mean's P with the Q of one rank.
Grid with_own_p(const std::vector<Numbers>& whole, std::size_t rank, const MatrixSlice& place,
                const Grid& q) {
  Grid q_sum = zero_grid(place.columns, place.rank), own;
  for (std::size_t r = 0; r < whole.size(); ++r) {
    const Grid mine = grid_in(whole[r], place.at, place.rows, place.columns);
    const Grid p = orthonormal(product(mine, q));
    const Grid part = product(turned(mine), p);
    for (std::size_t i = 0; i < part.values.size(); ++i) {
      q_sum.values[i] += part.values[i] / static_cast<double>(whole.size());
    }
    if (r == rank) own = p;
  }
  return product(own, turned(q_sum));
}
// The mean of P whose columns each rank made orthonormal for itself, and the Q that belongs to it.
Grid with_mean_of_own_ps(const std::vector<Numbers>& whole, const MatrixSlice& place,
                         const Grid& mean, const Grid& q) {
  Grid p = zero_grid(place.rows, place.rank);
  for (const Numbers& one : whole) {
    const Grid own = orthonormal(product(grid_in(one, place.at, place.rows, place.columns), q));
    for (std::size_t i = 0; i < p.values.size(); ++i) {
      p.values[i] += own.values[i] / static_cast<double>(whole.size());
    }
  }
  return product(p, turned(product(turned(mean), p)));
}
Grid with_own_q(const Numbers& mine, const MatrixSlice& place, const Grid& mean, const Grid& q) {
  const Grid p = orthonormal(product(mean, q));
  return product(p, turned(product(turned(grid_in(mine, place.at, place.rows, place.columns)), p)));
}

std::vector<Mistake<Numbers>> mistakes_of(const LossySeen& seen, std::size_t call, const Plan& plan,
                                          const std::vector<Grid>& qs, const Brought& all,
                                          const Numbers& right) {
  const double n = seen.ranks();
  const Numbers mean = mean_of(all.whole), fresh = mean_of(all.fresh);
  std::vector<Mistake<Numbers>> usual;
  usual.push_back(
      {{"residual_not_added",
        "what was left out before is not in it; add the residual to the gradient first"},
       made_of(plan, qs, fresh, 1, approximation)});
  usual.push_back({{"p_not_orthonormal",
                    "P went on as it arrived; its columns must be made orthonormal before Gᵀ·P, or "
                    "P·Qᵀ is no approximation of G"},
                   made_of(plan, qs, mean, 1, [](const MatrixSlice&, const Grid& g, const Grid& q) {
                     const Grid p = product(g, q);
                     return product(p, turned(product(turned(g), p)));
                   })});
  usual.push_back({{"q_orthonormal",
                    "Q was made orthonormal before P·Qᵀ, so that its lengths are lost: those of G; "
                    "only the next pass begins with an orthonormal Q"},
                   made_of(plan, qs, mean, 1, [](const MatrixSlice&, const Grid& g, const Grid& q) {
                     const Grid p = orthonormal(product(g, q));
                     return product(p, turned(orthonormal(product(turned(g), p))));
                   })});
  usual.push_back(
      {{"not_compressed", "it is the mean itself: the matrices travelled as they are"}, mean});
  for (std::size_t r = 0; r < all.whole.size() && n > 1; ++r) {
    usual.push_back(
        {{"p_not_reduced", text("rank ", r,
                                " uses a P of its own; all ranks need the mean of P, "
                                "or their Q do not belong together")},
         made_of(plan, qs, mean, 1, [&](const MatrixSlice& place, const Grid&, const Grid& q) {
           return with_own_p(all.whole, r, place, q);
         })});
    usual.push_back(
        {{"q_not_reduced", text("rank ", r,
                                " uses a Q of its own: the others' gradients are not "
                                "in it")},
         made_of(plan, qs, mean, 1, [&](const MatrixSlice& place, const Grid& g, const Grid& q) {
           return with_own_q(all.whole[r], place, g, q);
         })});
    usual.push_back(
        {{"not_reduced", text("it is rank ", r, "'s own gradient")}, seen.gradients[call][r]});
  }
  if (n > 1) {
    usual.push_back(
        {{"p_orthonormal_too_early",
          "each rank made the columns of its own P orthonormal, and the mean of those P went on: "
          "average P first, and make the columns of the mean orthonormal"},
         made_of(plan, qs, mean, 1, [&](const MatrixSlice& place, const Grid& g, const Grid& q) {
           return with_mean_of_own_ps(all.whole, place, g, q);
         })});
    const auto scaled = [&](double of_plain, double of_matrices) {
      return made_of(plan, qs, mean, of_plain,
                     [&](const MatrixSlice& one, const Grid& g, const Grid& q) {
                       Grid made = approximation(one, g, q);
                       for (double& value : made.values) value *= of_matrices;
                       return made;
                     });
    };
    const std::string times = text(n, " times too large: summed, not averaged");
    usual.push_back({{"summed_not_averaged", "everything is " + times}, scaled(n, n)});
    usual.push_back({{"q_summed", "the matrices are " + times}, scaled(1, n)});
    usual.push_back(
        {{"plain_summed", "the gradients that are not compressed are " + times}, scaled(n, 1)});
    usual.push_back(
        {{"divided_twice", text("the matrices are ", n, " times too small: divided twice")},
         scaled(1, 1 / n)});
  }
  usual.push_back(
      {{"plain_left_out", "the gradients that are not compressed are those of rank 0"}, [&] {
         Numbers made = right;
         for (const MatrixSlice& place : plan.places) {
           if (place.rank > 0) continue;
           put(made, place.at,
               grid_in(seen.gradients[call][0], place.at, place.rows, place.columns));
         }
         return made;
       }()});
  if (call > 0) {
    usual.push_back(
        {{"stale", "it is the result of the call before"}, seen.results[call - 1].front()});
  }
  return usual;
}

// Results of Q that other seeds give.
void add_other_seeds(std::vector<Mistake<Numbers>>& usual, const LossySeen& seen, std::size_t call,
                     const Problem& p, const Plan& plan, const Numbers& mean) {
  const auto buckets = static_cast<std::size_t>(p.settings.buckets);
  const std::uint64_t run = p.settings.seed, pass = call / buckets, bucket = call % buckets;
  const auto add = [&](std::uint64_t seed, const char* name, const char* made_of_what) {
    if (seed == seed_of(call, p)) return;
    usual.push_back({{name, text("Q begins with the numbers of another seed: ", made_of_what,
                                 " where random_bits(random_bits(seed, pass), bucket) belongs")},
                     made_of(plan, first_qs(seen, call, plan, seed), mean, 1, approximation)});
  };
  add(random_bits(run + pass, bucket), "other_seed", "seed + pass is mixed with the bucket,");
  add(random_bits(run, bucket), "other_seed", "the pass is not in it,");
  add(random_bits(run, pass), "other_seed", "the bucket is not in it,");
  add(run + pass + bucket, "other_seed", "seed + pass + bucket,");
  add(run, "other_seed", "the run's own seed,");
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
  const Brought all = brought_to(seen, call);
  const std::vector<Grid> qs = first_qs(seen, call, plan, seed_of(call, p));
  const Numbers mean = mean_of(all.whole);
  Right right{
      .name = text("P·Qᵀ in rank ", p.settings.rank, " (the mean, where nothing is compressed)"),
      .values = made_of(plan, qs, mean, 1, approximation)};
  right.tolerance.assign(right.values.size(), tolerance_of(p, mean));
  right.allowed = text("products of ", name_of(p.dtype), " round");
  right.mistakes = mistakes_of(seen, call, plan, qs, all, right.values);
  add_other_seeds(right.mistakes, seen, call, p, plan, mean);
  if (sums_overflow(plan, qs, mean, seen.ranks(), p.dtype)) {
    right.not_finite = overflowing_sum(seen.ranks(), p.dtype);
  }
  const bool first = call < static_cast<std::size_t>(p.settings.buckets);
  right.otherwise = {
      "other_values",
      text(first ? "Q is another one on each rank"
                 : "Q is not the one of the pass before, or another one on each rank",
           "; or the wrong gradients are compressed, or taken from the wrong place")};
  return right;
}

Right right_residual(const LossySeen& seen, std::size_t call, int rank, const Problem& p) {
  const Plan plan = plan_of(p.settings);
  const Brought all = brought_to(seen, call);
  const std::vector<Grid> qs = first_qs(seen, call, plan, seed_of(call, p));
  const Numbers mean = mean_of(all.whole);
  const auto r = static_cast<std::size_t>(rank);
  const Numbers& before = seen.state_before(call, rank);
  const Numbers& mine = all.whole[r];
  // With what the call made of each matrix; zero where nothing is compressed.
  const auto without = [&](const auto& of_matrix) {
    Numbers left = made_of(plan, qs, mean, 0, of_matrix);
    for (const MatrixSlice& place : plan.places) {
      for (std::int64_t i = 0; i < place.count() && place.rank > 0; ++i) {
        const auto k = static_cast<std::size_t>(place.at + i);
        left[k] = mine[k] - left[k];
      }
    }
    left.resize(before.size());
    return left;
  };
  Right right{.name = "gradient plus residual without P·Qᵀ (zero, where nothing is compressed)",
              .values = without(approximation)};
  right.tolerance.assign(before.size(), std::numeric_limits<double>::infinity());
  for (const MatrixSlice& place : plan.places) {
    const double allowed = place.rank > 0 ? tolerance_of(p, mean) + tolerance_of(p, mine) : 0;
    std::fill_n(right.tolerance.begin() + static_cast<std::ptrdiff_t>(place.at), place.count(),
                allowed);
  }
  right.allowed = text("products of ", name_of(p.dtype), " round");
  Numbers plain_kept = right.values;
  for (const MatrixSlice& place : plan.places) {
    if (place.rank == 0)
      put(plain_kept, place.at, grid_in(mine, place.at, place.rows, place.columns));
  }
  right.mistakes = {
      {{"residual_untouched", "it is as it was before the call: what is left out is forgotten"},
       before},
      {{"residual_cleared", "all of it is zero: what P·Qᵀ leaves out is forgotten"},
       Numbers(before.size())},
      {{"all_stays", "it is all of gradient plus residual: P·Qᵀ was not taken out"},
       without([](const MatrixSlice& place, const Grid&, const Grid&) {
         return zero_grid(place.rows, place.columns);
       })},
      {{"local_residual",
        "this rank's own P·(Gᵀ·P)ᵀ was taken out, not the mean's: the paper does so, and the sum "
        "over the ranks is the same, but the contract takes out what the gradient became"},
       without([&](const MatrixSlice& place, const Grid& g, const Grid& q) {
         return with_own_q(mine, place, g, q);
       })},
      {{"plain_stays",
        "gradients that are not compressed travel as a whole, so nothing of them is left"},
       plain_kept}};
  right.otherwise = {"other_residual", "it is neither what was there nor what is left"};
  return right;
}

}  // namespace lockstep::grader::power_sgd
