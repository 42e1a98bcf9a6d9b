// The exam of cast_hook: the mean within the roundings of 16 bits, exact where only one rounding
// happens, no overflow that the division avoids, and half the bytes of float32, in flight when the
// function returns.
#include "grader/parts/10_compression/cast_hook/case.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/base/units.hpp"
#include "grader/exam/lossy/checks.hpp"
#include "grader/exam/ranks/traffic.hpp"
#include "grader/judge/compare.hpp"

namespace lockstep::grader::cast_hook {
namespace {

using Family = LossyFamily<CastSettings>;
using Problem = Family::Problem;
using Contract = LossyContract<CastSettings>;

// The value that a half holds, rounded to nearest even.
double in_half(DType half, double value) {
  return half == DType::float16 ? static_cast<double>(static_cast<float>(Float16(value)))
                                : static_cast<double>(static_cast<float>(BFloat16(value)));
}
// Each rank's share, and what the mean is if one function makes a share of an element.
Numbers mean_of(const std::vector<Numbers>& gradients, const auto& share_of) {
  Numbers mean(gradients.front().size());
  for (const Numbers& mine : gradients) {
    for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += share_of(mine[i]);
  }
  return mean;
}

Right right_mean(const Problem& p, const LossySeen& seen, std::size_t call) {
  const double n = seen.ranks(), unit = epsilon_of(p.settings.half) / 2;
  const auto& gradients = seen.gradients[call];
  Right right{.name = text("the mean over ", counted(seen.ranks(), "rank")),
              .values = mean_of(gradients, [&](double x) { return x / n; })};
  // Each share is rounded once, relatively by `unit`, and each of N-1 additions once more; below
  // the normal float16 numbers a rounding is up to 2^-25.
  right.tolerance = mean_of(gradients, [&](double x) { return std::fabs(x) / n; });
  for (double& value : right.tolerance) value = (n + 1) * (unit * value + 0x1p-25);
  right.allowed = text("each share and each addition rounds to ", name_of(p.settings.half));
  right.mistakes = mistakes_of_mean(seen, call, right.values);
  return right;
}

void compare_means(CaseRunner& runner, const Played& played, const Problem& p,
                   const LossySeen& seen, const LossyNotes&) {
  for (std::size_t call = 0; call < seen.calls(); ++call) {
    check_result(runner, played, seen, call, right_mean(p, seen, call));
  }
}

// If one rank brings an element and the others zeros, the share's rounding is the only one.
void compare_single_roundings(CaseRunner& runner, const Played& played, const Problem& p,
                              const LossySeen& seen, const LossyNotes&) {
  const double n = seen.ranks();
  const DType half = p.settings.half;
  for (std::size_t call = 0; call < seen.calls(); ++call) {
    Right right{
        .name = text("one rank's share, rounded to nearest even in ", name_of(half), ","),
        .values = mean_of(seen.gradients[call], [&](double x) { return in_half(half, x / n); })};
    // A right answer may divide by a power of two before the sum and by the rest behind it.
    for (const double before : {2.0, 4.0}) {
      const Numbers in_parts = mean_of(
          seen.gradients[call], [&](double x) { return in_half(half, x / before) * (before / n); });
      if (seen.results[call].front() == in_parts) right.values = in_parts;
    }
    right.mistakes = mistakes_of_mean(seen, call, right.values);
    check_result(runner, played, seen, call, right);
  }
}

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

// A NaN, infinities of one and of both signs, and a number beyond float16, on one rank each; on the
// others, numbers.
Numbers special_numbers(const Problem& p, std::uint64_t, int rank, std::size_t) {
  const int last = p.members.size() - 1;
  Numbers values{1, 2, 3, 4, 1e9, 6};
  if (rank == last) values = {nan, inf, -inf, inf, 1e9, 7};
  if (rank == 0 && last > 0) values[3] = -inf;
  values.resize(static_cast<std::size_t>(p.count));
  return values;
}

void compare_special(CaseRunner& runner, const Played& played, const Problem& p,
                     const LossySeen& seen, const LossyNotes&) {
  Right right = right_mean(p, seen, 0);
  const bool small = p.settings.half == DType::float16;
  if (small && right.values.size() > 4) right.values[4] = inf;
  for (double& tolerance : right.tolerance) {
    if (!std::isfinite(tolerance)) tolerance = 0;
  }
  right.name = small ? "the mean in float16, whose largest number is 65,504," : right.name;
  right.otherwise = {"not_kept",
                     "NaN and infinity are data here: a run that has diverged must not look "
                     "healthy, so convert them as they are"};
  check_result(runner, played, seen, 0, right);
}

Wire wire_of(const Problem& p) {
  return {.bytes = ring_bytes(2 * p.count, p.members.size()),
          .formula = text("2(N-1)/N of ", counted(p.count, "element"), " of 2 bytes"),
          .collectives = 1,
          .made_of = "one all-reduce",
          .more = "elements travel in the bucket's own type, or whole buckets are gathered"};
}

Numbers usual_numbers(const Problem& p, std::uint64_t salt, int rank, std::size_t call) {
  return drawn_numbers(p.count, salt, rank, call);
}
Numbers one_ranks_numbers(const Problem& p, std::uint64_t salt, int rank, std::size_t call) {
  Numbers values = drawn_numbers(p.count, salt, rank, call);
  const auto ranks = static_cast<std::size_t>(p.members.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    // Halfway between two numbers of float16, where nearest even decides.
    if (i % 4 == 0) values[i] = (2048.0 + static_cast<double>(i / 4 % 512) * 2 + 1) / 8;
    if (i % 4 == 1) values[i] = (256.0 + static_cast<double>(i / 4 % 64) * 2 + 1) / 8;
    // Below the smallest normal half, also halfway between two of them. Not on more ranks: a right
    // answer may divide by a part of N before the sum and by the rest behind it.
    if (ranks <= 2 && i % 4 == 2) values[i] = std::ldexp(static_cast<double>(3 * i + 1), -25);
    if (ranks <= 2 && i % 8 == 3) values[i] = std::ldexp(static_cast<double>(3 * i + 1), -134);
    // And just beside it, on both sides: float32 has no such number, so it would be the halfway
    // one.
    if (p.dtype == DType::float64 && i % 4 < 2) {
      constexpr double beside[]{0, 0x1p-40, -0x1p-40};
      values[i] *= 1 + beside[i / 8 % 3];
    }
    // Three ranks divide with a rounding, so that nothing is halfway after it, but beside it.
    if (ranks == 3) values[i] *= 3 * (i % 4 < 2 && i / 8 % 3 == 0 ? 1 + 0x1p-38 : 1);
    if ((i + salt) % ranks != static_cast<std::size_t>(rank)) values[i] = 0;
  }
  return values;
}
Numbers large_numbers(const Problem& p, std::uint64_t, int rank, std::size_t) {
  Numbers values(static_cast<std::size_t>(p.count));
  if (rank >= std::min(2, p.members.size())) return values;
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = (i % 2 == 0 ? 60'000 : -58'000) + 32.0 * rank;
    // Its share fits float16, though it does not itself.
    if (i % 3 == 2 && p.members.size() > 1) values[i] = rank == 0 ? 100'352 : 0;
  }
  return values;
}

auto contract_with(decltype(Contract::compare) compare,
                   decltype(Contract::gradient) gradient = usual_numbers) {
  return Family::ranks_contract({.gradient = std::move(gradient), .compare = std::move(compare)});
}

Problem usual(CaseRunner& runner, int ranks, std::int64_t count, DType half) {
  Problem p;
  p.members = whole_world(ranks);
  p.settings.half = half;
  p.count = count;
  p.calls = 2;
  p.schedule_seed = runner.draw();
  return p;
}

constexpr DType halves[]{DType::float16, DType::bfloat16};

// Both types in turn.
Problem in_turn(CaseRunner& runner, int ranks, std::int64_t count) {
  return usual(runner, ranks, count, halves[(count + ranks) % 2]);
}

void single_roundings(CaseRunner& runner) {
  for (const int n : {1, 2, 4, 8, 3}) {
    for (const DType half : halves) {
      for (const DType dtype : {DType::float32, DType::float64}) {
        if (n == 3 && dtype == DType::float32) continue;  // 1/3 itself is rounded there
        Problem p = usual(runner, n, 97, half);
        p.dtype = dtype;
        judge(runner, contract_with(compare_single_roundings, one_ranks_numbers), p, {},
              {Situation::rounded_once});
      }
    }
  }
}

void large(CaseRunner& runner) {
  for (const int n : {2, 3, 4, 8}) {
    judge(runner, contract_with(compare_means, large_numbers), usual(runner, n, 7, DType::float16));
  }
}

void special(CaseRunner& runner) {
  for (const int n : {1, 3}) {
    for (const DType half : halves) {
      Problem p = usual(runner, n, 6, half);
      p.calls = 1;
      judge(runner, contract_with(compare_special, special_numbers), p);
    }
  }
}

const LossyPart<CastSettings> what_is_asked{
    .any_ranks =
        "on 1 to 8 and 13 ranks the bucket becomes the mean, with the same bits on all, in "
        "both 16-bit types",
    .any_size = "any number of elements, also none and more than 65,536",
    .types = "a subgroup divides by its own size, and float64 stays float64",
    .wire_sentence = "half the bytes of float32 travel, in one all-reduce",
    .starts = "the all-reduce is in flight when the function returns, and nothing was waited for",
    .usual = in_turn,
    .contract = {.gradient = usual_numbers, .compare = compare_means},
    .wire = wire_of,
    .least = {},
    .extremes = [](CaseRunner& runner) {
      std::vector<Problem> all;
      for (const std::int64_t count : {1, 3, 64}) all.push_back(in_turn(runner, 3, count));
      return all;
    }};

}  // namespace

Exam exam() {
  return lossy_exam(
      what_is_asked,
      {{"a share is rounded once, to nearest even, in the type that was asked for, also below its "
        "smallest normal number",
        single_roundings},
       {"60,000 on two ranks and 0 on the others: nothing overflows that fits as a mean", large},
       {"NaN and infinity stay what they are, and what is beyond the largest half is infinite",
        special}});
}

}  // namespace lockstep::grader::cast_hook
