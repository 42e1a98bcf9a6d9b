#include "grader/parts/07_ddp/bucketed_reducer/started.hpp"

#include <algorithm>
#include <cmath>

#include "engine/base/units.hpp"
#include "grader/exam/ranks/gradient_rules.hpp"
#include "grader/judge/compare.hpp"

namespace lockstep::grader::bucketed_reducer {
namespace {

// The elements that rank `rank` gives away with a bucket of a pass: its gradients, times `factor`.
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

// The buckets that the hook must be given, pass after pass.
std::vector<StartedBucket> buckets_to_start(const DrivenScript& script,
                                            const collectives::BucketPlan& plan) {
  std::vector<StartedBucket> all;
  for (std::size_t pass = 0; pass < script.passes.size(); ++pass) {
    const auto& buckets = plan.buckets;
    for (std::size_t b = 0; b < buckets.size(); ++b) {
      StartedBucket one{.index = b, .last = b + 1 == buckets.size(), .gradients = {}};
      for (const std::size_t i : buckets[b]) {
        const Shape shape = shape_of_parameter(script.sizes[i]);
        one.gradients.emplace_back(shape.begin(), shape.end());
        one.count += script.sizes[i];
      }
      all.push_back(std::move(one));
    }
  }
  return all;
}

// Several buckets of the plan were given to the hook as one: too late, but reduced.
bool are_merged(const std::vector<StartedBucket>& seen, const std::vector<StartedBucket>& right) {
  const auto elements = [](const std::vector<StartedBucket>& all) {
    std::int64_t sum = 0;
    for (const StartedBucket& one : all) sum += one.count;
    return sum;
  };
  return !seen.empty() && seen.size() < right.size() && elements(seen) == elements(right);
}

// Why a bucket is not what the hook should have been given; empty when it is.
std::string difference(const StartedBucket& seen, const StartedBucket& right) {
  if (seen.index != right.index) return text("index is ", seen.index);
  if (seen.count != right.count) {
    return text("flat has ", counted(seen.count, "element"), ", and its parameters ", right.count);
  }
  if (seen.last != right.last) return right.last ? "last is not set" : "last is set too early";
  if (seen.gradients != right.gradients) {
    return "gradients do not have the shapes of the bucket's parameters, in the plan's order";
  }
  if (!seen.in_place) return "gradients are not parts of flat, one after the other";
  return {};
}

void check_elements_of(CaseRunner& runner, const Played& played, const DrivenRun& run,
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
    const std::string wanted = number_at(expected, *at, dtype), shown = number_at(seen, *at, dtype);
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

}  // namespace

void check_started(CaseRunner& runner, const Played& played, const DrivenRun& run,
                   const collectives::BucketPlan& plan,
                   const std::vector<std::vector<StartedBucket>>& started) {
  const auto right = buckets_to_start(run.script, plan);
  for (int rank = 0; rank < run.ranks(); ++rank) {
    const auto& seen = started[static_cast<std::size_t>(rank)];
    if (are_merged(seen, right)) continue;  // check_overlap says what that costs
    for (std::size_t k = 0; k < std::min(seen.size(), right.size()); ++k) {
      const std::string wrong = difference(seen[k], right[k]);
      if (wrong.empty()) continue;
      const auto where = text("rank ", rank, ", bucket ", right[k].index);
      runner.fail(played, {.cause = "hook_bucket",
                           .message = text("on rank ", rank, " the hook is given bucket ",
                                           right[k].index, " of the plan, but its ", wrong,
                                           "; a hook that compresses reads all of them"),
                           .where = where});
    }
    if (seen.size() == right.size()) continue;
    runner.fail(played,
                because({"hook_bypassed",
                         "buckets are reduced by other means; reduction.hook decides how a bucket "
                         "is reduced, and a compressing one is put in its place"},
                        {.message = text("on rank ", rank, " the hook was given ",
                                         counted(std::ssize(seen), "bucket"),
                                         " where the passes have ", right.size()),
                         .expected = text(right.size()),
                         .seen = text(seen.size()),
                         .where = text("rank ", rank)}));
  }
}

void check_elements(CaseRunner& runner, const Played& played, const DrivenRun& run,
                    const collectives::BucketPlan& plan,
                    const std::vector<std::vector<StartedBucket>>& started) {
  for (int rank = 0; rank < run.ranks(); ++rank) {
    const auto& seen = started[static_cast<std::size_t>(rank)];
    if (seen.size() != run.script.passes.size() * plan.buckets.size()) continue;  // merged
    check_elements_of(runner, played, run, plan, rank, seen);
  }
}

void require_no_wait(CaseRunner& runner, const Played& played, int rank,
                     const std::vector<std::uint64_t>& waited) {
  if (waited.empty()) return;
  runner.fail(played,
              because({"waits_before_it_looks",
                       "finalize looks for gradients that did not come after its waits; another "
                       "rank may lack one of a bucket that was started here, and then the wait "
                       "never ends: look first"},
                      {.message = text("a gradient did not come on rank ", rank,
                                       ", and finalize waited for bucket ", waited.front(),
                                       " before it threw"),
                       .expected = "no wait() for a bucket of this pass",
                       .seen = text("a wait() for bucket ", waited.front()),
                       .where = text("rank ", rank)}));
}

}  // namespace lockstep::grader::bucketed_reducer
