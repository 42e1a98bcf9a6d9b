// The exam of token_weighted_mean: one division by the count of all ranks. A wrong answer is
// matched against other weights of the same sums, since nearly every mistake here is one.
#include "grader/parts/05_data_parallel/token_weighted_mean/case.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/base/units.hpp"
#include "grader/exam/function/odd_values.hpp"
#include "grader/exam/ranks/checks.hpp"
#include "grader/exam/ranks/gradient_rules.hpp"
#include "grader/exam/ranks/traffic.hpp"
#include "grader/judge/compare.hpp"
#include "grader/judge/keyed.hpp"
#include "grader/parts/05_data_parallel/token_weighted_mean/causes.hpp"

namespace lockstep::grader::token_weighted_mean {
namespace {

struct Problem {
  Members members;
  GradientPlan plan{DType::float64, {35, 12, 1, 64, 72, 13}, {1, 1, 1, 1, 1, 1}};
  std::vector<Round> rounds;
  std::uint64_t schedule_seed = 0;

  int size() const { return members.size(); }
  std::string description() const {
    std::string counts;
    for (const std::int64_t count : rounds.front().counted) {
      counts += text(counts.empty() ? "" : ", ", count);
    }
    return text(members.description(), " with ", counts, " positions, ", plan.sizes.size(),
                plan.sizes.size() == 1 ? " parameter of " : " parameters of ", name_of(plan.dtype),
                name_of(plan.held));
  }
};

// The salts of the calls of one case differ.
std::uint64_t salt_of(std::uint64_t salt, std::size_t round) { return keyed_bits(salt, round); }

data_parallel::LossSum loss_of(const Round& round, std::uint64_t salt, int rank) {
  const auto r = static_cast<std::size_t>(rank);
  const double mean = (0.5 + keyed_uniform(salt, 77 + r)) * (1 + rank);
  return {round.loss_scale * mean * static_cast<double>(round.counted[r]), round.counted[r],
          round.padded[r]};
}

Cause cause_of_loss(const Round& round, int self, double seen, double right,
                    const std::vector<std::vector<double>>& sums) {
  if (const auto odd = cause_by_finiteness({&seen, 1}, {&right, 1}, 0)) return *odd;
  if (std::fabs(seen - right) <= 0.02 * std::fabs(right)) {
    return {"rounded_totals",
            "sum and count were rounded before they were reduced: reduce them in float64 "
            "(empty_like takes the gradients' type). Or an epsilon was added to the count"};
  }
  return likely_cause(round, self, std::span(&seen, 1), sums);
}

void compare_loss(CaseRunner& runner, const Played& played, const Round& round, std::uint64_t salt,
                  const std::vector<double>& of_ranks) {
  const int n = static_cast<int>(of_ranks.size());
  std::vector<std::vector<double>> sums;
  for (int rank = 0; rank < n; ++rank) sums.push_back({loss_of(round, salt, rank).sum});
  const auto total = static_cast<double>(round.total());
  const auto count = static_cast<std::size_t>(n);
  const double right = weighted(sums, Weights(count, total > 0 ? 1 / total : 0)).front();
  for (int rank = 0; rank < n; ++rank) {
    const double seen = of_ranks[static_cast<std::size_t>(rank)];
    // Sums of N numbers of one sign in float64, in any order, and one division.
    const double tolerance = 1e-12 * std::fabs(right);
    if (first_difference({&seen, 1}, {&right, 1}, {&tolerance, 1})) {
      runner.fail(played, because(cause_of_loss(round, rank, seen, right, sums),
                                  {.message = text("the gradients are right, but rank ", rank,
                                                   " returned the mean loss ", number(seen),
                                                   " where the mean over the ",
                                                   counted(round.total(), "position"), " of ",
                                                   counted(n, "rank"), " is ", number(right)),
                                   .expected = number(right),
                                   .seen = number(seen),
                                   .where = text("rank ", rank, ", mean loss")}));
    }
    if (first_other_bits({&seen, 1}, {&of_ranks.front(), 1})) {
      const std::string both =
          text(number(of_ranks.front()), " on rank 0, ", number(seen), " on rank ", rank);
      runner.fail(played, because({"bits_differ", "each rank added in its own order"},
                                  {.message = text("ranks 0 and ", rank,
                                                   " returned means that differ in their last "
                                                   "bits, ",
                                                   both),
                                   .expected = "the same bits on every rank",
                                   .seen = both,
                                   .where = text("rank ", rank, ", mean loss")}));
    }
  }
}

void compare_round(CaseRunner& runner, const Played& played, const Problem& p, const Round& round,
                   std::uint64_t salt, const std::vector<WeightedReport>& reports) {
  std::vector<double> losses;
  std::vector<GradientReports> gradients;
  for (const WeightedReport& report : reports) {
    losses.push_back(report.loss);
    gradients.push_back(report.gradients);
  }
  const auto n = static_cast<std::size_t>(p.size());
  const auto total = static_cast<double>(round.total());
  for (std::size_t i = 0; i < p.plan.sizes.size(); ++i) {
    std::vector<std::vector<double>> sums, sizes;
    for (std::size_t r = 0; r < n; ++r) {
      sums.push_back(drawn_gradient(p.plan, salt, static_cast<int>(r), i,
                                    static_cast<double>(round.counted[r])));
      sizes.push_back(sums.back());
      for (double& value : sizes.back()) value = std::fabs(value);
    }
    const Weights right(n, total > 0 ? 1 / total : 0);
    ExpectedGradient expected;
    expected.name = text("the mean over the ", counted(round.total(), "position"), " of ",
                         counted(static_cast<std::int64_t>(n), "rank"));
    expected.values = weighted(sums, right);
    // The factor is rounded once, each product once, and N-1 additions: (N+2)·eps·Σ|g|/Σcounted.
    expected.tolerance = weighted(sizes, right);
    for (double& value : expected.tolerance) {
      value *= static_cast<double>(n + 2) * epsilon_of(p.plan.dtype);
    }
    expected.likely_cause = [&](std::span<const double> seen, int rank) {
      return likely_cause(round, rank, seen, sums);
    };
    check_gradient(runner, played, p.plan, i, gradients, expected);
  }
  compare_loss(runner, played, round, salt, losses);
}

using Reports = std::vector<WeightedReport>;  // of one rank, by call

void compare(CaseRunner& runner, const Played& played, const Problem& p, std::uint64_t salt,
             const std::vector<Reports>& of_ranks) {
  for (std::size_t k = 0; k < p.rounds.size(); ++k) {
    Reports of_round;
    for (const Reports& reports : of_ranks) {
      if (reports.size() != p.rounds.size()) throw MalformedMessage("not a report a call");
      of_round.push_back(reports[k]);
    }
    compare_round(runner, played, p, p.rounds[k], salt_of(salt, k), of_round);
  }
}

WeightedCase case_of(const Problem& p, std::uint64_t salt, int rank) {
  WeightedCase one;
  for (std::size_t k = 0; k < p.rounds.size(); ++k) {
    const std::uint64_t own_salt = salt_of(salt, k);
    const auto loss = loss_of(p.rounds[k], own_salt, rank);
    const auto counted = static_cast<double>(loss.counted);
    one.calls.push_back({loss, drawn_gradients(p.plan, own_salt, rank, counted)});
  }
  return one;
}

void ask_of(const Problem&, std::uint64_t, int, const WeightedCase& c, Situations& asked) {
  for (const WeightedCall& call : c.calls) {
    grader::ask_of(call.mine, asked);
    if (call.loss.sum < 0) asked.insert(Situation::negative_loss);
  }
}

const RanksContract<Problem, WeightedCase, Reports> contract{
    .case_of = case_of, .compare = compare, .ask_of = ask_of};

// Counts that differ between ranks, and padding on each or nowhere.
enum class Padding : std::uint8_t { none, some };
Round drawn_round(CaseRunner& runner, int ranks, Padding padding) {
  Round round;
  for (int rank = 0; rank < ranks; ++rank) {
    round.counted.push_back(1 + 40 * rank + static_cast<std::int64_t>(runner.draw() % 30));
    const std::int64_t filled = 7 + static_cast<std::int64_t>(runner.draw() % 90);
    round.padded.push_back(padding == Padding::some ? filled : 0);
  }
  return round;
}

RanksChecks<Problem, WeightedCase, Reports> checks_with(Padding padding) {
  return {contract, [padding](CaseRunner& runner, int ranks) {
            Problem p;
            p.members = whole_world(ranks);
            p.rounds = {drawn_round(runner, ranks, padding)};
            p.schedule_seed = runner.draw();
            return p;
          }};
}
const auto checks = checks_with(Padding::some), unpadded = checks_with(Padding::none);

void check_totals_reduced_once(CaseRunner& runner, const Played& played, const Problem& p) {
  const auto& all = played.counters.collectives;
  const auto small = std::count_if(all.begin(), all.end(), [](const sim::CollectiveRecord& record) {
    return record.bytes > 0 && record.bytes <= 16;
  });
  if (small <= 2) return;  // sum and count, together or each by itself
  Failure failure;
  failure.verdict = Verdict::efficiency;
  failure.cause = "totals_reduced_often";
  failure.counters = {{"small_collectives", static_cast<double>(small)}};
  failure.expected = "one reduction of sum and count";
  failure.seen = counted(small, "small collective");
  failure.message =
      text("the mean is right, but there were ", counted(small, "collective"),
           " of one or two numbers for ", p.plan.sizes.size(),
           " parameters; likely cause: the count is reduced again for each parameter. Each "
           "reduction costs a round trip; reduce the count once, before the loop");
  runner.fail(played, std::move(failure));
}

void check_cost(CaseRunner& runner, const Played& played, const Problem& p) {
  check_one_reduction(runner, played, p.plan, p.size());
  check_totals_reduced_once(runner, played, p);
  check_operations(runner, played,
                   {.collectives = std::ssize(p.plan.sizes) + 2,
                    .allowed = text("one all-reduce of the totals and one for each of ",
                                    p.plan.sizes.size(), " gradients")});
}

void without_positions(CaseRunner& runner) {
  for (const int n : {2, 3, 8}) {
    Problem p = checks.usual(runner, n);
    p.rounds.front().counted.front() = 0;
    checks.ask(runner, p);
    p.rounds.push_back(drawn_round(runner, n, Padding::some));
    p.rounds.back().counted.back() = 0;
    checks.ask(runner, p);
  }
}

// Nobody counts anything in the first of two rounds.
void no_positions(Problem& p) {
  p.rounds.push_back(p.rounds.front());
  p.rounds.front().counted.assign(static_cast<std::size_t>(p.size()), 0);
}

void odd_losses(CaseRunner& runner) {
  constexpr double scales[] = {-1, std::numeric_limits<double>::quiet_NaN(),
                               -std::numeric_limits<double>::infinity()};
  for (const double scale : scales) {
    checks.ask(runner, 3, [&](Problem& p) { p.rounds.front().loss_scale = scale; });
  }
}

void missing_gradients(Problem& p) {
  p.plan.sizes = {5, 3, 0, 8};
  p.plan.has_grad = {1, 0, 1, 1};
}

void cost(CaseRunner& runner) {
  const auto cost_of = [&](int n, const std::vector<std::int64_t>& sizes) {
    Situations asked;
    if (sizes.size() == 1) asked = {Situation::price_at_the_extremes};
    unpadded.ask(
        runner, n,
        [&](Problem& p) {
          p.plan = {DType::float32, sizes, std::vector<std::uint8_t>(sizes.size(), 1)};
        },
        check_cost, asked);
  };
  for (const int n : {2, 4, 8}) cost_of(n, {400, 130, 50});
  cost_of(1, {64});
  cost_of(3, {70'000});
}

}  // namespace

Exam exam() {
  return {
      {"ranks with different numbers of positions get one device's mean", unpadded.every_size()},
      {"padding does not count", checks.on({2, 5})},
      {"a rank without positions takes part with a sum and a count of 0", without_positions},
      {"if no rank counts a position, the mean is 0 and the gradients stay zero",
       checks.on({3, 1}, no_positions)},
      {"large counts stay exact, even with float32 and bfloat16 gradients",
       in_turn(unpadded.on({3},
                           [](Problem& p) {
                             p.rounds.front().counted = {3'000'000'000, 1'003, 2'500'000'000};
                           }),
               checks.types({DType::float32, DType::bfloat16, DType::float16}, 3,
                            [](Problem& p) {
                              p.rounds.front().counted = {20'000'001, 1'003, 77};
                            }))},
      {"a sum of losses may be below zero, NaN or infinite; the mean is then, too",
       in_turn(odd_losses, checks.odd_values())},
      {"a subgroup and parameters without gradients get the right mean",
       checks.twice_in_a_subgroup(missing_gradients)},
      {"when a peer is lost, a rank throws CommError and leaves no mean over the remaining ranks",
       checks.lose_peers(4)},
      {"the gradients are reduced once, and the totals once", cost},
  };
}

}  // namespace lockstep::grader::token_weighted_mean
