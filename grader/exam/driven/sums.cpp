#include "grader/exam/driven/sums.hpp"

#include <algorithm>

#include "engine/base/units.hpp"
#include "grader/exam/driven/picture.hpp"
#include "grader/judge/compare.hpp"
#include "grader/judge/wrong_terms.hpp"

namespace lockstep::grader {
namespace {

std::vector<double> scaled(std::span<const double> values, double factor) {
  std::vector<double> all(values.begin(), values.end());
  for (double& value : all) value *= factor;
  return all;
}

std::vector<double> sum_of(std::span<const double> a, std::span<const double> b) {
  std::vector<double> all(a.begin(), a.end());
  for (std::size_t e = 0; e < all.size(); ++e) all[e] += b[e];
  return all;
}

// The sum over the ranks, where the grads from before are left out or nothing new is there.
std::vector<double> sum_over_ranks(const std::vector<std::vector<double>>& shares) {
  std::vector<double> sum(shares.front().size());
  for (const auto& share : shares) sum = sum_of(sum, share);
  return sum;
}

// One gradient of one rank that is wrong.
struct WrongGradient {
  std::size_t pass, parameter;
  int rank;
  std::span<const double> seen;
};

class Guess {
 public:
  Guess(const Played& played, const DrivenRun& run, const std::vector<AwaitedCollective>& awaited,
        const std::vector<std::vector<DrivenGradient>>& right)
      : played_(played), run_(run), awaited_(awaited), right_(right) {}

  Cause of(const WrongGradient& wrong) const {
    if (!all_finite(wrong.seen) && all_finite(right_of(wrong).values)) {
      return {"no_number",
              "this value is not finite: uninitialised memory was read, or added to; without a "
              "gradient, a place in a bucket is zero"};
    }
    for (const auto& guess : {by_share(wrong), by_reduction(wrong), by_pass(wrong),
                              by_parameter(wrong), by_rank(wrong)}) {
      if (guess) return *guess;
    }
    return {"other_values",
            "when a bucket is reduced, each gradient of this pass is at its place of the plan, and "
            "zeros are where there is none, not what the pass before left there"};
  }

 private:
  const DrivenGradient& right_of(const WrongGradient& wrong) const {
    return right_[wrong.pass][wrong.parameter];
  }

  std::optional<Cause> by_share(const WrongGradient& wrong) const {
    const auto& values = right_of(wrong).values;
    if (resembles(wrong.seen, values)) {
      return Cause{"rounded",
                   "only the last digits are wrong: a gradient or a sum was rounded to a smaller "
                   "type"};
    }
    const double share = run_.script.share_of(run_.ranks()), own = 1.0 / run_.ranks();
    if (share != own && resembles(wrong.seen, scaled(values, own / share))) {
      return Cause{"share_ignored", text("it is multiplied by 1/N, but reduction.share is ",
                                         number(share), " here")};
    }
    if (share == 1) return std::nullopt;
    if (resembles(wrong.seen, scaled(values, 1 / share))) {
      return Cause{"summed_not_averaged",
                   "it is the sum over the ranks; no gradient was multiplied by reduction.share"};
    }
    if (resembles(wrong.seen, scaled(values, share))) {
      return Cause{"divided_twice", "it was multiplied by reduction.share twice"};
    }
    return std::nullopt;
  }

  // This rank's own gradient: no other rank's was added, or not yet.
  std::optional<Cause> by_reduction(const WrongGradient& wrong) const {
    const DrivenGradient& right = right_of(wrong);
    const auto rank = static_cast<std::size_t>(wrong.rank);
    const auto own = sum_of(right.before[rank], right.made[rank]);
    const bool is_share = resembles(wrong.seen, scaled(own, run_.script.share_of(run_.ranks())));
    if (!is_share && !resembles(wrong.seen, own)) return std::nullopt;
    const std::size_t began = collectives_of_pass(played_, run_, wrong.pass).size();
    if (began < awaited_.size()) {
      return Cause{
          "never_reduced",
          text("only ", began, " of ", awaited_.size(), " collectives began",
               in_pass(run_, wrong.pass),
               wrong.pass > 0 ? ", so it is this rank's own gradient: what is counted in a "
                                "pass must be set back for the next"
                              : ", so it is this rank's own gradient: every bucket is "
                                "started as soon as it is full, the last one too, and one gradient "
                                "may complete several")};
    }
    if (is_share) {
      return Cause{
          "read_too_early",
          "it is this rank's own gradient, multiplied by its share: all collectives began, "
          "but the result was read before wait()"};
    }
    return Cause{"not_averaged",
                 "it is this rank's own gradient: what was reduced did not get back into "
                 "parameter.grad"};
  }

  std::optional<Cause> by_pass(const WrongGradient& wrong) const {
    const DrivenGradient& right = right_of(wrong);
    const double weight = run_.script.weight_of(run_.ranks());
    if (wrong.pass > 0 && resembles(wrong.seen, right_[wrong.pass - 1][wrong.parameter].values)) {
      return Cause{"stale",
                   "it is what was right after the pass before; take what parameter.grad is when "
                   "it is ready: it "
                   "may be another tensor than in the pass before"};
    }
    if (resembles(wrong.seen, scaled(sum_over_ranks(right.made), weight))) {
      return Cause{"earlier_lost",
                   "the grad that was there before this pass is missing; backward adds to it, and "
                   "it travels along"};
    }
    if (resembles(wrong.seen, scaled(sum_over_ranks(right.before), weight))) {
      return Cause{"new_lost", "it is what was there before this pass, without the new gradient"};
    }
    return std::nullopt;
  }

  std::optional<Cause> by_parameter(const WrongGradient& wrong) const {
    for (std::size_t other = 0; other < right_[wrong.pass].size(); ++other) {
      const auto& values = right_[wrong.pass][other].values;
      if (other == wrong.parameter || values.size() != wrong.seen.size()) continue;
      if (!values.empty() && resembles(wrong.seen, values)) {
        return Cause{"wrong_place", text("it is the gradient of parameter ", other)};
      }
    }
    return std::nullopt;
  }

  std::optional<Cause> by_rank(const WrongGradient& wrong) const {
    const DrivenGradient& right = right_of(wrong);
    const double weight = run_.script.weight_of(run_.ranks());
    std::vector<Term> terms;
    for (std::size_t r = 0; r < right.made.size(); ++r) {
      terms.push_back({text("rank ", r, "'s new gradient"), weight, right.made[r]});
      terms.push_back({text("rank ", r, "'s grad from before"), weight, right.before[r]});
    }
    if (wrong.pass > 0) {
      terms.push_back(
          {"the result of the pass before", 0, right_[wrong.pass - 1][wrong.parameter].values});
    }
    return cause_of_terms(wrong.seen, right.values, terms, 1e-4);
  }

  const Played& played_;
  const DrivenRun& run_;
  const std::vector<AwaitedCollective>& awaited_;
  const std::vector<std::vector<DrivenGradient>>& right_;
};

}  // namespace

void check_sums(CaseRunner& runner, const Played& played, const DrivenRun& run,
                const std::vector<AwaitedCollective>& awaited) {
  run.events.require_all();
  const std::size_t passes = run.script.passes.size();
  for (const DrivenReport& report : run.reports) {
    if (report.after.size() != passes) throw MalformedMessage("not a report a pass");
  }
  runner.redraw([&](trace::Timeline& drawn) { draw_backward(run, awaited.size(), drawn); });
  const auto right = right_gradients(run.script, run.salt, run.ranks());
  const Guess guess(played, run, awaited, right);
  for (std::size_t p = 0; p < passes; ++p) {
    std::vector<GradientReports> of_ranks;
    for (const DrivenReport& report : run.reports) of_ranks.push_back(report.after[p]);
    for (std::size_t i = 0; i < run.script.sizes.size(); ++i) {
      ExpectedGradient expected;
      expected.values = right[p][i].values;
      expected.tolerance = right[p][i].tolerance;
      expected.name = text(run.script.share == 0 ? "the mean over " : "the sum of shares over ",
                           counted(run.ranks(), "rank"), in_pass(run, p));
      expected.likely_cause = [&, p, i](std::span<const double> seen, int rank) {
        return guess.of({p, i, rank, seen});
      };
      check_gradient(runner, played, run.script.plan(), i, of_ranks, expected);
    }
  }
}

}  // namespace lockstep::grader
