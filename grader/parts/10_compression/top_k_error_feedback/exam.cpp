// The exam of top_k_error_feedback: the largest entries of gradient plus residual travel with their
// signs, what is left stays on its rank, and nothing is lost over many calls; k entries of 8 bytes
// to each other rank, in flight when the function returns.
#include "grader/parts/10_compression/top_k_error_feedback/case.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "grader/exam/lossy/checks.hpp"
#include "grader/judge/compare.hpp"
#include "grader/parts/10_compression/top_k_error_feedback/oracle.hpp"

namespace lockstep::grader::top_k_error_feedback {
namespace {

using Family = LossyFamily<TopKSettings>;
using Problem = Family::Problem;
using Contract = LossyContract<TopKSettings>;

Sparsity sparsity_of(const Problem& p) { return {p.settings.fraction, p.dtype}; }

void compare_calls(CaseRunner& runner, const Played& played, const Problem& p,
                   const LossySeen& seen, const LossyNotes&) {
  for (std::size_t call = 0; call < seen.calls(); ++call) {
    check_result(runner, played, seen, call, right_mean(seen, call, sparsity_of(p)));
    for (int rank = 0; rank < seen.ranks(); ++rank) {
      check_state_at_return(runner, played, seen, call, rank,
                            right_residual(seen, call, rank, sparsity_of(p)));
    }
  }
}

// All numbers are integers. Where N is a power of two, so are their shares times N, and all sums
// are exact. Else each share is rounded by 2^-24 of itself, and so is each addition: of at most N
// entries in each of the calls, none larger than all that came in before, 50 a call.
void compare_books(CaseRunner& runner, const Played& played, const Problem& p,
                   const LossySeen& seen, const LossyNotes&) {
  const bool exact = std::has_single_bit(static_cast<unsigned>(seen.ranks()));
  const auto calls = static_cast<double>(seen.calls());
  const double rounding = calls * seen.ranks() * 50 * calls * 0x1p-23;
  check_nothing_lost(runner, played, seen, exact ? 0 : rounding,
                     exact ? "exactly, as all sums are of integers" : "up to rounding");
  // The books are also right where every rank keeps to itself.
  for (std::size_t call = 0; call < seen.calls(); ++call) {
    check_result(runner, played, seen, call, right_mean(seen, call, sparsity_of(p)));
  }
}

void compare_special(CaseRunner& runner, const Played& played, const Problem& p,
                     const LossySeen& seen, const LossyNotes&) {
  for (std::size_t call = 0; call < seen.calls(); ++call) {
    Right mean = right_mean(seen, call, sparsity_of(p));
    mean.mistakes.clear();
    mean.otherwise = {"not_kept",
                      "NaN and infinity are the largest of all, so they travel at once, as they "
                      "are: a diverged run must not look healthy"};
    check_result(runner, played, seen, call, mean);
    for (int rank = 0; rank < seen.ranks(); ++rank) {
      check_state_at_return(runner, played, seen, call, rank,
                            right_residual(seen, call, rank, sparsity_of(p)));
    }
  }
}

Wire wire_of(const Problem& p) {
  const std::int64_t k = entries_of(p.count, p.settings.fraction);
  return {.bytes = (p.members.size() - 1) * 8.0 * static_cast<double>(k),
          .formula = text("(N-1) times ", k, k == 1 ? " entry" : " entries", " of 8 bytes"),
          .collectives = 1,
          .made_of = "one all-gather",
          .more = "a whole tensor full of zeros, or places of 8 bytes",
          .less = "places, which the other ranks cannot know"};
}

Numbers usual_numbers(const Problem& p, std::uint64_t salt, int rank, std::size_t call) {
  return drawn_numbers(p.count, salt, rank, call);
}
Numbers integers(const Problem& p, std::uint64_t salt, int rank, std::size_t call) {
  return drawn_integers(p.count, salt, rank, call);
}
// The state before the first call: as large as a gradient, so that it decides what travels.
Numbers usual_state(const Problem& p, std::uint64_t salt, int rank, std::size_t bucket) {
  return drawn_numbers(p.count, ~salt, rank, bucket);
}
Numbers nothing_kept(const Problem& p, std::uint64_t, int, std::size_t) {
  return Numbers(static_cast<std::size_t>(p.count));
}

// One magnitude for all entries of a rank, with signs of its own: all ranks send the same places.
Numbers equal_magnitudes(const Problem& p, std::uint64_t salt, int rank, std::size_t call) {
  Numbers values = drawn_integers(p.count, salt, rank, call);
  for (double& value : values) value = std::copysign(3.0 * rank + 2, value);
  return values;
}

// Magnitudes whose squares no float32 holds: of some 1e-25, or 1e25 in the second call.
Numbers far_magnitudes(const Problem& p, std::uint64_t salt, int rank, std::size_t call) {
  Numbers values = drawn_integers(p.count, salt, rank, call);
  for (double& value : values) value *= call == 0 ? 1e-25 : 1e25;
  return values;
}
// Magnitudes that are one in float32, and differ in float64.
Numbers close_magnitudes(const Problem& p, std::uint64_t salt, int rank, std::size_t call) {
  Numbers values = drawn_integers(p.count, salt, rank, call);
  for (double& value : values) value = std::copysign(1 + std::fabs(value) * 0x1p-40, value);
  return values;
}

// The sum of two overflows float32; their mean does not.
Numbers large_numbers(const Problem& p, std::uint64_t, int, std::size_t) {
  return Numbers(static_cast<std::size_t>(p.count), 3e38);
}

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

// In the first call, the last rank brings a NaN and two infinities: as many as travel.
Numbers special_numbers(const Problem& p, std::uint64_t salt, int rank, std::size_t call) {
  Numbers values = drawn_integers(p.count, salt, rank, call);
  if (rank != p.members.size() - 1 || call > 0 || values.size() < 9) return values;
  values[2] = nan;
  values[5] = -inf;
  values[7] = inf;
  return values;
}

auto contract_with(decltype(Contract::compare) compare,
                   decltype(Contract::gradient) gradient = usual_numbers,
                   decltype(Contract::state) state = usual_state) {
  return Family::ranks_contract(
      {.gradient = std::move(gradient), .state = std::move(state), .compare = std::move(compare)});
}

Problem usual(CaseRunner& runner, int ranks, std::int64_t count, double fraction) {
  Problem p;
  p.members = whole_world(ranks);
  p.settings.fraction = fraction;
  p.count = count;
  p.calls = 2;
  p.schedule_seed = runner.draw();
  return p;
}

Problem in_turn(CaseRunner& runner, int ranks, std::int64_t count) {
  return usual(runner, ranks, count, count >= 1'000 ? 0.05 : count == 4 ? 0.29 : 0.2);
}

void books(CaseRunner& runner) {
  for (const int n : {2, 3}) {
    Problem p = usual(runner, n, 53, 0.1);
    p.calls = 50;
    judge(runner, contract_with(compare_books, integers, nothing_kept), p);
  }
}

void ties(CaseRunner& runner) {
  for (const int n : {1, 4}) {
    Problem p = usual(runner, n, 12, 0.25);
    p.calls = 1;
    judge(runner, contract_with(compare_calls, equal_magnitudes, nothing_kept), p);
  }
  Problem far = usual(runner, 2, 12, 0.25);
  judge(runner, contract_with(compare_calls, far_magnitudes, nothing_kept), far);
  Problem close = usual(runner, 2, 12, 0.25);
  close.calls = 1;
  close.dtype = DType::float64;
  judge(runner, contract_with(compare_calls, close_magnitudes, nothing_kept), close);
}

void large(CaseRunner& runner) {
  Problem p = usual(runner, 2, 9, 0.4);
  p.calls = 1;
  judge(runner, contract_with(compare_calls, large_numbers, nothing_kept), p);
}

void special(CaseRunner& runner) {
  for (const int n : {1, 3}) {
    judge(runner, contract_with(compare_special, special_numbers, nothing_kept),
          usual(runner, n, 10, 0.3));
  }
}

void two_buckets(CaseRunner& runner) {
  Problem p = usual(runner, 3, 23, 0.2);
  p.buckets = 2;
  p.calls = 6;
  judge(runner, contract_with(compare_calls), p);
}

const LossyPart<TopKSettings> what_is_asked{
    .any_ranks =
        "on 1 to 8 and 13 ranks the largest entries travel with their signs and are "
        "averaged, and the rest stays",
    .any_size =
        "any number of elements, also none and more than 65,536, and at least one entry of "
        "a small tensor",
    .types = "a subgroup divides by its own size, and float64 stays float64",
    .wire_sentence = "k entries of 8 bytes travel to each other rank, in one all-gather",
    .starts = "the all-gather is in flight when the function returns, and nothing was waited for",
    .usual = in_turn,
    .contract = {.gradient = usual_numbers, .state = usual_state, .compare = compare_calls},
    .wire = wire_of,
    .all_digits = {DType::float64},
    .extremes =
        [](CaseRunner& runner) {
          std::vector<Problem> all;
          for (const auto& [count, fraction] :
               {std::pair{1, 1.0}, {3, 0.1}, {17, 1.0}, {64, 0.7}, {64, 0.01}, {64, 1.0}}) {
            all.push_back(usual(runner, 3, count, fraction));
          }
          return all;
        },
    .refusals = "a fraction that is not above 0 and up to 1 is refused, also without elements",
    .nonsense =
        [](std::vector<TopKSettings>& all) {
          for (const double fraction : {0.0, 1.5}) all.push_back({.fraction = fraction});
        }};

}  // namespace

Exam exam() {
  return lossy_exam(
      what_is_asked,
      {{"over 50 calls, what was sent and what is left add up to what came in", books},
       {"of equal magnitudes the lower place travels, of others the larger one, however close or "
        "far they are, and entries of one place are added",
        ties},
       {"NaN and infinity travel at once and leave nothing behind", special},
       {"a value is multiplied by 1/N before the sum: nothing overflows that fits as a mean",
        large},
       {"each bucket has a residual of its own", two_buckets}});
}

}  // namespace lockstep::grader::top_k_error_feedback
