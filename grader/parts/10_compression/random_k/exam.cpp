// The exam of random_k: the mean at the places that the seed chooses, n/k times as large, and zeros
// elsewhere; other places in every call; and 2(N-1)/N of k elements, in flight when the function
// returns.
#include "grader/parts/10_compression/random_k/case.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <tuple>

#include "engine/base/random.hpp"
#include "engine/base/units.hpp"
#include "grader/exam/lossy/checks.hpp"
#include "grader/exam/ranks/traffic.hpp"
#include "grader/judge/compare.hpp"

namespace lockstep::grader::random_k {
namespace {

using Family = LossyFamily<RandomKSettings>;
using Problem = Family::Problem;
using Contract = LossyContract<RandomKSettings>;

// For each place, true if its entry travels: R. W. Floyd's algorithm [BF87], as random_entries
// draws.
std::vector<bool> chosen(const Problem& p, std::uint64_t seed) {
  std::vector<bool> travels(static_cast<std::size_t>(p.count));
  for (std::int64_t last = p.count - p.settings.k; last < p.count; ++last) {
    const double share = random_uniform(seed, static_cast<std::uint64_t>(last));
    const auto drawn = static_cast<std::size_t>(share * static_cast<double>(last + 1));
    travels[travels[drawn] ? static_cast<std::size_t>(last) : drawn] = true;
  }
  return travels;
}

Numbers only(const Numbers& values, const std::vector<bool>& travels, double factor) {
  Numbers kept(values.size());
  for (std::size_t i = 0; i < kept.size(); ++i) kept[i] = travels[i] ? values[i] * factor : 0;
  return kept;
}

Numbers mean_of(const std::vector<Numbers>& gradients, const auto& size_of) {
  Numbers mean(gradients.front().size());
  for (const Numbers& mine : gradients) {
    for (std::size_t i = 0; i < mean.size(); ++i) {
      mean[i] += size_of(mine[i]) / static_cast<double>(gradients.size());
    }
  }
  return mean;
}

Right right_mean(const Problem& p, const LossySeen& seen, std::size_t call) {
  const double up =
      static_cast<double>(p.count) / static_cast<double>(std::max<std::int64_t>(p.settings.k, 1));
  const auto travels = chosen(p, p.settings.seed_of(call));
  const auto& gradients = seen.gradients[call];
  const Numbers mean = mean_of(gradients, [](double x) { return x; });
  Right right{.name = text("n/k times the mean over ", counted(seen.ranks(), "rank"),
                           ", at the places of the seed,"),
              .values = only(mean, travels, up)};
  // A factor, or three of them, a product and N-1 additions round once each.
  right.tolerance = only(mean_of(gradients, [](double x) { return std::fabs(x); }), travels,
                         up * (seen.ranks() + 4) * epsilon_of(p.dtype));
  // Below the smallest normal float32, a product rounds by half of 2^-149.
  for (double& tolerance : right.tolerance) {
    if (tolerance > 0) tolerance += seen.ranks() * 0x1p-149;
  }
  right.allowed = text("sums of ", name_of(p.dtype), " round");
  right.mistakes = mistakes_of_mean(seen, call, right.values);
  right.not_finite = overflowing_sum(right.values, seen.ranks(), p.dtype);
  if (!right.not_finite) right.not_finite = overflowing_sum(mean, seen.ranks(), p.dtype);
  if (right.not_finite) {
    right.not_finite->sentence =
        text("a number on the way is too large for ", name_of(p.dtype),
             ", and the result is not: multiply each value once, by n/(k·N), before the sum");
  }
  right.otherwise = {"other_places",
                     "on all ranks, the j-th value belongs to the j-th place that "
                     "random_entries(n, k, step_seed) gives, in ascending order: send all k, also "
                     "those that are 0, and put the sums back at these places"};
  return right;
}

void compare_means(CaseRunner& runner, const Played& played, const Problem& p,
                   const LossySeen& seen, const LossyNotes&) {
  for (std::size_t call = 0; call < seen.calls(); ++call) {
    check_result(runner, played, seen, call, right_mean(p, seen, call));
  }
}

void compare_special(CaseRunner& runner, const Played& played, const Problem& p,
                     const LossySeen& seen, const LossyNotes&) {
  for (std::size_t call = 0; call < seen.calls(); ++call) {
    Right right = right_mean(p, seen, call);
    for (double& tolerance : right.tolerance) {
      if (!std::isfinite(tolerance)) tolerance = 0;
    }
    right.otherwise = {"not_kept",
                       "an entry that does not travel becomes 0, also where it was NaN; one that "
                       "travels stays what it is: write zeros, do not multiply by them"};
    check_result(runner, played, seen, call, right);
  }
}

// Over many seeds the average of the results is the dense mean. Each is mean · n/k with probability
// k/n, else 0: a deviation of |mean| · √(n/k - 1) for one seed.
void compare_average(CaseRunner& runner, const Played& played, const Problem& p,
                     const LossySeen& seen, const LossyNotes& notes) {
  compare_means(runner, played, p, seen, notes);
  const double up = static_cast<double>(p.count) / static_cast<double>(p.settings.k);
  const auto calls = static_cast<double>(seen.calls());
  const Numbers mean = mean_of(seen.gradients.front(), [](double x) { return x; });
  for (std::size_t i = 0; i < mean.size(); ++i) {
    double average = 0;
    for (const auto& of_call : seen.results) average += of_call.front()[i] / calls;
    const double sigma = std::fabs(mean[i]) * std::sqrt((up - 1) / calls);
    if (std::fabs(average - mean[i]) <= 6 * sigma) continue;
    runner.fail(played, because({"biased", "some entries travel more often than others"},
                                {.message = text("over ", seen.calls(), " seeds, element ", i,
                                                 " is ", number(average),
                                                 " on average, where the "
                                                 "mean over the ranks is ",
                                                 number(mean[i])),
                                 .expected = number(mean[i]),
                                 .seen = number(average),
                                 .where = text("element ", i)}));
  }
}

// If one rank brings an element and the others zeros, its product is the only rounding. The factor
// n/(k·N) may be a double, or rounded to the element's type before.
Numbers products(const Problem& p, const LossySeen& seen, std::size_t call, DType factor_in) {
  const double factor = static_cast<double>(p.count) /
                        (static_cast<double>(p.settings.k) * static_cast<double>(seen.ranks()));
  const double used = as_doubles(factor_in, to_bytes(factor_in, Numbers{factor})).front();
  const auto times = [&](double x) { return static_cast<double>(static_cast<float>(x * used)); };
  Numbers sum(static_cast<std::size_t>(p.count));
  for (const Numbers& mine : seen.gradients[call]) {
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += times(mine[i]);
  }
  return only(sum, chosen(p, p.settings.seed_of(call)), 1);
}

void compare_once(CaseRunner& runner, const Played& played, const Problem& p, const LossySeen& seen,
                  const LossyNotes&) {
  for (std::size_t call = 0; call < seen.calls(); ++call) {
    Right right = right_mean(p, seen, call);
    right.tolerance.clear();
    right.values = products(p, seen, call, DType::float64);
    const Numbers narrow = products(p, seen, call, DType::float32);
    if (seen.results[call].front() == narrow) right.values = narrow;
    right.name = "the entry times n/(k·N), rounded once,";
    check_result(runner, played, seen, call, right);
  }
}

Wire wire_of(const Problem& p) {
  return {.bytes = ring_bytes(4 * p.settings.k, p.members.size()),
          .formula = text("2(N-1)/N of ", counted(p.settings.k, "element"), " of 4 bytes"),
          .collectives = 1,
          .made_of = "one all-reduce",
          .more = "a whole tensor full of zeros, or places, which all ranks know already"};
}

Numbers usual_numbers(const Problem& p, std::uint64_t salt, int rank, std::size_t call) {
  return drawn_numbers(p.count, salt, rank, call);
}
Numbers same_numbers(const Problem& p, std::uint64_t salt, int rank, std::size_t) {
  return drawn_numbers(p.count, salt, rank, 0);
}

// The last rank brings a NaN or an infinity in every other place: some travel, some do not.
Numbers special_numbers(const Problem& p, std::uint64_t salt, int rank, std::size_t call) {
  Numbers values = drawn_numbers(p.count, salt, rank, call);
  for (std::size_t i = 0; rank == p.members.size() - 1 && i < values.size(); i += 2) {
    values[i] = i % 4 == 0 ? std::numeric_limits<double>::quiet_NaN()
                           : std::numeric_limits<double>::infinity();
  }
  return values;
}

Numbers one_ranks_numbers(const Problem& p, std::uint64_t salt, int rank, std::size_t call) {
  Numbers values = drawn_numbers(p.count, salt, rank, call);
  const auto ranks = static_cast<std::size_t>(p.members.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    if ((i + salt) % ranks != static_cast<std::size_t>(rank)) values[i] = 0;
  }
  return values;
}

// On two ranks and on more, their sum overflows float32, or n/k times one of them, and what becomes
// of them does not.
Numbers large_numbers(const Problem& p, std::uint64_t, int rank, std::size_t call) {
  Numbers values(static_cast<std::size_t>(p.count));
  const double travelling = static_cast<double>(p.settings.k) * p.members.size();
  const double largest = std::min(3e38, 1.5e38 * travelling / static_cast<double>(p.count));
  for (std::size_t i = 0; rank < 2 && i < values.size(); ++i) {
    values[i] = largest / (rank == 0 ? 1 : 1.5) * ((i + call) % 2 == 0 ? 1 : -1);
  }
  return values;
}

auto contract_with(decltype(Contract::compare) compare,
                   decltype(Contract::gradient) gradient = usual_numbers) {
  return Family::ranks_contract(
      {.gradient = std::move(gradient), .state = {}, .compare = std::move(compare)});
}

Problem usual(CaseRunner& runner, int ranks, std::int64_t count, std::int64_t k) {
  Problem p;
  p.members = whole_world(ranks);
  p.settings = {k, runner.draw()};
  p.count = count;
  p.calls = 3;
  p.schedule_seed = runner.draw();
  return p;
}

// One entry of a few, all of 5, and an eighth of more.
Problem in_turn(CaseRunner& runner, int ranks, std::int64_t count) {
  const std::int64_t k = count < 2 || count == 5 ? count : count == 4 ? 3 : (count + 7) / 8;
  return usual(runner, ranks, count, k);
}

void many_seeds(CaseRunner& runner) {
  Problem p = usual(runner, 2, 11, 3);
  p.calls = 150;
  judge(runner, contract_with(compare_average, same_numbers), p);
}

void rounded_once(CaseRunner& runner) {
  for (const auto& [n, count, k] : {std::tuple{3, 40, 13}, {1, 41, 7}, {7, 30, 30}}) {
    judge(runner, contract_with(compare_once, one_ranks_numbers), usual(runner, n, count, k), {},
          {Situation::rounded_once});
  }
}

void special(CaseRunner& runner) {
  for (const int n : {1, 3}) {
    judge(runner, contract_with(compare_special, special_numbers), usual(runner, n, 24, 8));
  }
}

void large(CaseRunner& runner) {
  judge(runner, contract_with(compare_means, large_numbers), usual(runner, 2, 9, 9));
  judge(runner, contract_with(compare_means, large_numbers), usual(runner, 8, 16, 4));
}

const LossyPart<RandomKSettings> what_is_asked{
    .any_ranks =
        "on 1 to 8 and 13 ranks the entries of the seed become n/k times the mean, and the "
        "others zero",
    .any_size = "any number of elements and entries, also none, all, and more than 65,536",
    .types = "a subgroup divides by its own size, and float64 and the halves stay what they are",
    .wire_sentence = "k elements travel in one all-reduce, without their places",
    .starts = "the all-reduce is in flight when the function returns, and nothing was waited for",
    .usual = in_turn,
    .contract = {.gradient = usual_numbers, .compare = compare_means},
    .wire = wire_of,
    .dtypes = {DType::float64, DType::float32, DType::bfloat16, DType::float16},
    .all_digits = {DType::float64},
    .extremes = [](CaseRunner& runner) {
      std::vector<Problem> all;
      for (const auto& [count, k] : {std::pair{1, 1}, {64, 1}, {64, 64}, {64, 40}, {3, 2}}) {
        all.push_back(usual(runner, 3, count, k));
      }
      return all;
    }};

}  // namespace

Exam exam() {
  return lossy_exam(
      what_is_asked,
      {{"over 150 seeds the average is the mean over the ranks", many_seeds},
       {"NaN and infinity stay where they travel, and are gone where they do not", special},
       {"an entry is multiplied before the sum: nothing overflows that fits as a mean", large},
       {"an entry is multiplied once, by n/(k·N)", rounded_once}});
}

}  // namespace lockstep::grader::random_k
