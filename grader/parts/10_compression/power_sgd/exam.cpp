// The exam of power_sgd: each matrix becomes P·Qᵀ, exact where its mean has a small enough rank;
// what that leaves out stays on its rank, and nothing is lost over many passes; and two all-reduces
// of thin matrices, the first in flight when the function returns.
#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

#include "grader/exam/lossy/checks.hpp"
#include "grader/exam/ranks/traffic.hpp"
#include "grader/judge/compare.hpp"
#include "grader/parts/10_compression/power_sgd/oracle.hpp"

namespace lockstep::grader::power_sgd {
namespace {

using Family = LossyFamily<PowerSgdSettings>;
using Contract = LossyContract<PowerSgdSettings>;

// All ranks begin the next pass with the same Q: the same bits.
void require_same_qs(CaseRunner& runner, const Played& played, const Problem& p,
                     const LossySeen& seen, std::size_t call) {
  const auto qs_of = [&](int rank) {
    const Numbers& state = seen.states[call][static_cast<std::size_t>(rank)];
    return std::span(state).subspan(static_cast<std::size_t>(p.count));
  };
  for (int rank = 1; rank < seen.ranks(); ++rank) {
    const auto at = first_other_bits(qs_of(rank), qs_of(0));
    if (!at || (std::isnan(qs_of(rank)[*at]) && std::isnan(qs_of(0)[*at]))) continue;
    runner.fail(played,
                because({"qs_differ",
                         "the Q that a rank keeps is its own, or was changed after the all-reduce; "
                         "all ranks begin the next pass with the mean of Gᵀ·P"},
                        {.message = text("element ", *at, " of Q after call ", call + 1,
                                         " differs between ranks 0 and ", rank),
                         .expected = number(qs_of(0)[*at]),
                         .seen = number(qs_of(rank)[*at]),
                         .where = text("rank ", rank, ", Q, element ", *at)}));
  }
}

// The next pass begins with the Q of this one's P·Qᵀ.
void require_own_qs(CaseRunner& runner, const Played& played, const Problem& p,
                    const LossySeen& seen, std::size_t call) {
  const Plan plan = plan_of(p.settings);
  const double allowed = span_tolerance(seen, call, p);
  for (const MatrixSlice& place : plan.places) {
    if (place.rank == 0) continue;
    const double outside = outside_span(seen, call, place, plan.count);
    if (outside <= allowed) continue;
    runner.fail(played, because({"other_q",
                                 "the Q of P·Qᵀ has to stay in state.qs: power iteration goes on "
                                 "with it, and without it each pass begins anew"},
                                {.message = text("after call ", call + 1,
                                                 ", the Q that the ranks keep of a matrix ",
                                                 place.rows, "×", place.columns,
                                                 " is not that of the P·Qᵀ that came out"),
                                 .expected = "P·Qᵀ in the span of Q",
                                 .seen = text(number(outside), " outside it, as a norm")}));
  }
}

void compare_calls(CaseRunner& runner, const Played& played, const Problem& p,
                   const LossySeen& seen, const LossyNotes&) {
  for (std::size_t call = 0; call < seen.calls(); ++call) {
    check_result(runner, played, seen, call, right_bucket(seen, call, p));
    for (int rank = 0; rank < seen.ranks(); ++rank) {
      check_state(runner, played, seen, call, rank, right_residual(seen, call, rank, p));
    }
    require_same_qs(runner, played, p, seen, call);
    require_own_qs(runner, played, p, seen, call);
  }
}

// The mean of the ranks' matrices has a rank of r at most, though none of theirs has.
void compare_exact(CaseRunner& runner, const Played& played, const Problem& p,
                   const LossySeen& seen, const LossyNotes& notes) {
  Right right{.name = text("the mean, a matrix of rank ", p.settings.rank, ","),
              .allowed = text("products of ", name_of(p.dtype), " round")};
  right.values.resize(static_cast<std::size_t>(p.count));
  double largest = 0;
  for (const Numbers& mine : seen.gradients.front()) {
    for (std::size_t i = 0; i < right.values.size(); ++i) {
      right.values[i] += mine[i] / seen.ranks();
      largest = std::max(largest, std::fabs(mine[i]));
    }
  }
  // The noise of two ranks cancels up to its rounding.
  right.tolerance.assign(right.values.size(), 1e7 * epsilon_of(p.dtype) * largest);
  right.otherwise = {"not_exact",
                     "P spans all columns of a mean of this rank, so P·Pᵀ·G is G; P, or Q, is not "
                     "that of the mean over the ranks, or P is not orthonormal"};
  check_result(runner, played, seen, 0, right);
  compare_calls(runner, played, p, seen, notes);
}

// Each product and sum rounds; ten calls of numbers below 100.
void compare_books(CaseRunner& runner, const Played& played, const Problem& p,
                   const LossySeen& seen, const LossyNotes& notes) {
  check_nothing_lost(runner, played, seen, 1e-7, "up to rounding");
  compare_calls(runner, played, p, seen, notes);
}

// The part of a rank's residual that a NaN decides: `mean` is NaN in the matrices that have one.
Right left_of_special(const LossySeen& seen, int rank, const Plan& plan, const Numbers& mean) {
  Right left{.name = "NaN in a matrix with a NaN, and zero where nothing is compressed,",
             .values = seen.states[0][static_cast<std::size_t>(rank)]};
  for (const MatrixSlice& place : plan.places) {
    for (auto i = static_cast<std::size_t>(place.at); std::cmp_less(i, place.at + place.count());
         ++i) {
      if (place.rank == 0) left.values[i] = 0;
      if (place.rank > 0 && std::isnan(mean[i])) left.values[i] = mean[i];
    }
  }
  left.otherwise = {"special_residual",
                    "a matrix with a NaN leaves NaN, and what is not compressed leaves zero: write "
                    "that zero, for 0 times NaN is NaN, and so is NaN minus NaN"};
  return left;
}

void compare_special(CaseRunner& runner, const Played& played, const Problem& p,
                     const LossySeen& seen, const LossyNotes&) {
  Right right{.name = "NaN in a matrix with a NaN, and the mean elsewhere,"};
  const Plan plan = plan_of(p.settings);
  right.values.resize(static_cast<std::size_t>(p.count));
  for (const Numbers& mine : seen.gradients.front()) {
    for (std::size_t i = 0; i < right.values.size(); ++i) right.values[i] += mine[i] / seen.ranks();
  }
  for (const double value : right.values) {
    right.tolerance.push_back(std::isfinite(value) ? 1e-9 * (std::fabs(value) + 100) : 0);
  }
  for (const MatrixSlice& place : plan.places) {
    const auto begin = right.values.begin() + static_cast<std::ptrdiff_t>(place.at);
    const auto end = begin + static_cast<std::ptrdiff_t>(place.count());
    if (place.rank == 0) continue;
    if (std::any_of(begin, end, [](double x) { return !std::isfinite(x); })) {
      std::fill(begin, end, std::numeric_limits<double>::quiet_NaN());
    }
  }
  right.otherwise = {
      "not_kept",
      "a NaN in a matrix reaches all of P·Qᵀ, and nothing outside it: a diverged run "
      "must not look healthy"};
  check_result(runner, played, seen, 0, right);
  for (int rank = 0; rank < seen.ranks(); ++rank) {
    check_state(runner, played, seen, 0, rank, left_of_special(seen, rank, plan, right.values));
  }
}

Wire wire_of(const Problem& p) {
  const Plan plan = plan_of(p.settings);
  const std::int64_t elements = plan.plain + plan.p_count + plan.q_count;
  const auto bytes = static_cast<std::int64_t>(bytes_of(p.dtype));
  return {.bytes = ring_bytes(bytes * elements, p.members.size()),
          .formula = text("2(N-1)/N of ", plan.plain, " elements as they are, ", plan.p_count,
                          " of P and ", plan.q_count, " of Q"),
          .collectives = plan.q_count > 0 ? 2 : 1,
          .made_of = plan.q_count > 0 ? "two all-reduces" : "one all-reduce",
          .more =
              "P·Qᵀ or whole matrices travel, or matrices that do not shrink enough are "
              "compressed",
          .less = "a matrix is compressed that must travel as it is, or P is not reduced"};
}

void compare_bytes(CaseRunner& runner, const Played& played, const Problem& p,
                   const LossySeen& seen, const LossyNotes& notes) {
  compare_calls(runner, played, p, seen, notes);
  check_wire(runner, played, seen, wire_of(p));
}

Numbers usual_numbers(const Problem& p, std::uint64_t salt, int rank, std::size_t call) {
  return drawn_numbers(p.count, salt, rank, call);
}
Numbers integers(const Problem& p, std::uint64_t salt, int rank, std::size_t call) {
  return drawn_integers(p.count, salt, rank, call);
}
// A residual as large as a gradient, and no Q yet.
Numbers usual_state(const Problem& p, std::uint64_t salt, int rank, std::size_t bucket) {
  Numbers state = drawn_numbers(p.count, ~salt, rank, bucket);
  state.resize(static_cast<std::size_t>(p.count + p.settings.q_count));
  return state;
}
// Nothing in the first pass: all columns of Q become zero, and the second pass draws them anew.
Numbers zeros_at_first(const Problem& p, std::uint64_t salt, int rank, std::size_t call) {
  if (call > 0) return usual_numbers(p, salt, rank, call);
  return Numbers(static_cast<std::size_t>(p.count));
}
Numbers nothing_kept(const Problem& p, std::uint64_t, int, std::size_t) {
  return Numbers(static_cast<std::size_t>(p.count + p.settings.q_count));
}

// Makes each matrix a sum of r products of a column and a row, which differ on each rank but for
// the columns, plus noise that has opposite signs on ranks 0 and 1.
Numbers small_ranks(const Problem& p, std::uint64_t salt, int rank, std::size_t call) {
  Numbers values(static_cast<std::size_t>(p.count));
  const Numbers noise = drawn_integers(p.count, salt + 1, 0, call);
  for (const MatrixSlice& place : plan_of(p.settings).places) {
    for (std::int64_t k = 0; k < p.settings.rank; ++k) {
      const Numbers column = drawn_integers(place.rows, salt + 2, static_cast<int>(k), 0);
      const Numbers row = drawn_integers(place.columns, salt + 3, static_cast<int>(k),
                                         1 + static_cast<std::size_t>(rank));
      for (std::int64_t i = 0; i < place.count(); ++i) {
        values[static_cast<std::size_t>(place.at + i)] +=
            column[static_cast<std::size_t>(i / place.columns)] *
            row[static_cast<std::size_t>(i % place.columns)];
      }
    }
  }
  for (std::size_t i = 0; i < values.size() && p.members.size() > 1; ++i) {
    values[i] += rank == 0 ? noise[i] : rank == 1 ? -noise[i] : 0;
  }
  return values;
}

// A NaN in the first matrix and one in the vector behind the matrices, on the last rank; of two
// ranks, infinities.
Numbers special_numbers(const Problem& p, std::uint64_t salt, int rank, std::size_t) {
  Numbers values = small_ranks(p, salt, rank, 0);
  if (rank != p.members.size() - 1) return values;
  using Limits = std::numeric_limits<double>;
  values[3] = values.back() = p.members.size() == 2 ? Limits::infinity() : Limits::quiet_NaN();
  return values;
}

// Each matrix is a column of ±1 and ±2 times a row, and the row is the rank's. So halves hold each
// P exactly, up to its length.
Numbers single_columns(const Problem& p, std::uint64_t salt, int rank, std::size_t) {
  Numbers values(static_cast<std::size_t>(p.count));
  for (const MatrixSlice& place : plan_of(p.settings).places) {
    for (std::int64_t k = 0; k < place.count(); ++k) {
      const std::int64_t i = k / place.columns, j = k % place.columns;
      const double row = 1 + static_cast<double>((j + rank + static_cast<int>(salt % 4)) % 4);
      const double column = (i % 2 == 0 ? 1 : 2) * (i % 3 == 0 ? -1 : 1);
      values[static_cast<std::size_t>(place.at + k)] = column * (j % 3 == 1 ? -row : row);
    }
  }
  return values;
}

// On eight ranks, sums overflow float32: those of the vector behind the matrix, and those of Q. The
// means do not.
Numbers large_numbers(const Problem& p, std::uint64_t salt, int, std::size_t call) {
  Numbers values = single_columns(p, salt, 0, call);
  for (const MatrixSlice& place : plan_of(p.settings).places) {
    for (auto i = static_cast<std::size_t>(place.at); std::cmp_less(i, place.at + place.count());
         ++i) {
      values[i] = std::copysign(place.rank > 0 ? 4e37 : 3e38, values[i]);
    }
  }
  return values;
}

auto contract_with(decltype(Contract::compare) compare,
                   decltype(Contract::gradient) gradient = usual_numbers,
                   decltype(Contract::state) state = usual_state) {
  return Family::ranks_contract(
      {.gradient = std::move(gradient), .state = std::move(state), .compare = std::move(compare)});
}

using Shapes = std::vector<std::vector<std::int64_t>>;

Problem usual(CaseRunner& runner, int ranks, const Shapes& shapes, std::int64_t rank,
              double compression_min = 2) {
  Problem p;
  p.members = whole_world(ranks);
  p.settings = {.shapes = shapes, .rank = rank, .buckets = 1, .seed = runner.draw()};
  p.settings.compression_min = compression_min;
  const Plan plan = plan_of(p.settings);
  p.settings.q_count = plan.q_count;
  p.count = plan.count;
  p.calls = 2;
  p.dtype = DType::float64;
  p.schedule_seed = runner.draw();
  return p;
}

const Shapes two_matrices{{9, 8}, {7}, {3, 4}, {6, 5, 3}};

// About as many elements, in matrices that are compressed, or none.
Problem in_turn(CaseRunner& runner, int ranks, std::int64_t count) {
  if (count < 2) return usual(runner, ranks, count == 0 ? Shapes{} : Shapes{{1}}, 1);
  if (count > 1 << 16) return usual(runner, ranks, {{256, 257}}, 1);
  return usual(runner, ranks, two_matrices, ranks % 2 + 1);
}

void exact(CaseRunner& runner) {
  for (const int n : {1, 2, 5}) {
    judge(runner, contract_with(compare_exact, small_ranks, nothing_kept),
          usual(runner, n, {{12, 9}, {10, 11}}, n == 2 ? 1 : 2));
  }
}

// The cases that PyTorch's _should_compress decides, and gradients with one axis or no element.
void what_is_compressed(CaseRunner& runner) {
  const auto of = [&](const Shapes& shapes, std::int64_t rank, double compression_min = 2) {
    Problem p = usual(runner, 2, shapes, rank, compression_min);
    p.dtype = DType::float32;
    judge(runner, contract_with(compare_bytes), p);
  };
  of({{4, 4}, {5, 5}, {512, 1}, {9}, {0, 5}}, 1);
  of({{10, 10}, {9, 10}, {1}}, 2);
  of({{64, 576}}, 4);
  of({{5}, {3, 2}}, 1);
  of({}, 1);
  of({{8, 8}, {9, 9}}, 1, 4);
  of({{4, 4}, {3, 3}}, 1, 1.5);
  of({{2, 2}, {5, 4}, {6, 2}}, 3, 0.4);
}

void books(CaseRunner& runner) {
  for (const int n : {1, 3}) {
    Problem p = usual(runner, n, {{8, 6}, {5}}, 1);
    p.calls = 10;
    judge(runner, contract_with(compare_books, integers, nothing_kept), p);
  }
}

void two_buckets(CaseRunner& runner) {
  Problem p = usual(runner, 3, {{7, 8}, {3}}, 1);
  p.buckets = 2;
  p.settings.buckets = 2;
  p.calls = 6;
  judge(runner, contract_with(compare_calls), p);
  Problem zeros = usual(runner, 3, {{9, 8}, {7}}, 2);
  zeros.calls = 3;
  judge(runner, contract_with(compare_calls, zeros_at_first, nothing_kept), zeros);
}

void special(CaseRunner& runner) {
  for (const int n : {1, 2, 3}) {
    Problem p = usual(runner, n, {{8, 6}, {7, 7}, {5}}, 1);
    p.calls = 1;
    judge(runner, contract_with(compare_special, special_numbers, nothing_kept), p);
  }
}

void halves(CaseRunner& runner) {
  for (const DType dtype : {DType::bfloat16, DType::float16}) {
    Problem p = usual(runner, 3, two_matrices, 1);
    p.dtype = dtype;
    p.calls = 1;
    judge(runner, contract_with(compare_calls, single_columns, nothing_kept), p);
  }
}

void large(CaseRunner& runner) {
  Problem p = usual(runner, 8, {{8, 8}, {7}}, 1);
  p.dtype = DType::float32;
  p.calls = 1;
  judge(runner, contract_with(compare_calls, large_numbers, nothing_kept), p);
}

const LossyPart<PowerSgdSettings> what_is_asked{
    .any_ranks =
        "on 1 to 8 and 13 ranks matrices become P·Qᵀ and the rest the mean, and what is "
        "left out stays on its rank",
    .any_size = "a bucket of one element, of none, and of more than 65,536",
    .types = "a subgroup divides by its own size, in float32 and float64",
    .wire_sentence = "(n + m)·r elements of a matrix travel instead of n·m",
    .starts =
        "the first all-reduce is in flight when the function returns, and nothing was waited for",
    .usual = in_turn,
    .contract = {.gradient = usual_numbers, .state = usual_state, .compare = compare_calls},
    .wire = wire_of,
    .counts = {0, 1, 53},
    .all_digits = {DType::float64},
    .least = {},
    .extremes = [](CaseRunner& runner) {
      std::vector<Problem> all{usual(runner, 8, {{20, 30}, {50}}, 2)};
      for (const auto& shapes : {Shapes{{1}}, Shapes{{64}}, Shapes{{8, 8}}, Shapes{{64, 1}}}) {
        all.push_back(usual(runner, 3, shapes, 1));
      }
      return all;
    }};

}  // namespace

Exam exam() {
  return lossy_exam(
      what_is_asked,
      {{"a mean of rank r comes out exactly, and its residuals add up to zero", exact},
       {"what shrinks enough is compressed and nothing else, in two all-reduces",
        what_is_compressed,
        {},
        Asks::cost},
       {"over ten passes, what was applied and what is left add up to what came in", books},
       {"each bucket has a residual and Q of its own, and a Q that became zero is drawn anew",
        two_buckets},
       {"a NaN or an infinity makes its matrix NaN on all ranks, and nothing else; what is not "
        "compressed leaves a "
        "residual of zero",
        special},
       {"shares are multiplied by 1/N before each sum: nothing overflows that fits as a mean",
        large},
       {"halves stay halves", halves}});
}

}  // namespace lockstep::grader::power_sgd
