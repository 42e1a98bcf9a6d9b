// A bucket is compared, element by element, with what its gradients times the share are.
#include "grader/parts/07_ddp/bucketed_reducer/started.hpp"

#include <cmath>

#include "grader/exam/gradient_rules.hpp"
#include "grader/judge/compare.hpp"

namespace lockstep::grader::bucketed_reducer {
namespace {

// What rank `rank` gives away with a bucket of a pass: its gradients, times `factor`.
std::vector<double> elements_of(const std::vector<DrivenGradient>& gradients,
                                const std::vector<std::size_t>& members, int rank, double factor) {
  const auto r = static_cast<std::size_t>(rank);
  std::vector<double> all;
  for (const std::size_t i : members) {
    const auto &before = gradients[i].before[r], &made = gradients[i].made[r];
    for (std::size_t e = 0; e < made.size(); ++e) all.push_back(factor * (before[e] + made[e]));
  }
  return all;
}

}  // namespace

void check_elements(CaseRunner& runner, const Played& played, const DrivenRun& run,
                    const collectives::BucketPlan& plan, int rank,
                    const std::vector<StartedBucket>& started) {
  const DType dtype = run.script.dtype;
  const double share = run.script.share_of(run.ranks());
  const auto gradients = right_gradients(run.script, run.salt, run.ranks());
  for (std::size_t k = 0; k < started.size(); ++k) {
    const std::size_t pass = k / plan.buckets.size(), b = k % plan.buckets.size();
    const auto expected = elements_of(gradients[pass], plan.buckets[b], rank, share);
    const auto seen = as_doubles(dtype, started[k].elements);
    std::vector<double> tolerance;  // share is rounded once, and so is each product
    for (const double value : expected) {
      tolerance.push_back(2 * epsilon_of(dtype) * std::fabs(value));
    }
    const auto at = first_difference(seen, expected, tolerance);
    if (!at) continue;
    const Cause late{
        "scaled_late",
        text("the gradients are multiplied by reduction.share, which is ", number(share),
             " here, after they were summed: a sum in float16 can overflow before "
             "that; multiply each gradient before its bucket starts")};
    const Cause other{"hook_elements",
                      "the bucket holds other numbers than this rank's gradients, each multiplied "
                      "by reduction.share"};
    const auto unscaled = elements_of(gradients[pass], plan.buckets[b], rank, 1);
    const std::string wanted = number_at(expected, *at), shown = number_at(seen, *at);
    runner.fail(
        played,
        because(resembles(seen, unscaled) ? late : other,
                {.message = text("the means are right, but on rank ", rank,
                                 " the hook is given bucket ", b, " with ", shown, " at element ",
                                 *at, " where the gradient times reduction.share is ", wanted),
                 .expected = wanted,
                 .seen = shown,
                 .where = text("rank ", rank, ", bucket ", b, ", element ", *at)}));
  }
}

}  // namespace lockstep::grader::bucketed_reducer
