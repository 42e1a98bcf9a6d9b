#include "grader/parts/07_ddp/unused_parameters/cost.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <span>

#include "engine/base/units.hpp"
#include "grader/exam/driven/found_buckets.hpp"
#include "grader/exam/ranks/traffic.hpp"
#include "grader/judge/compare.hpp"

namespace lockstep::grader::unused_parameters {
namespace {

using Collectives = std::vector<const sim::CollectiveRecord*>;

// In the order in which rank 0 entered them.
Collectives in_order(const Played& played) {
  Collectives all;
  for (const auto& record : played.counters.collectives) all.push_back(&record);
  std::ranges::stable_sort(all, {}, [](const auto* record) { return record->entered_s.front(); });
  return all;
}

PlannedBuckets buckets_of(const UnusedProblem& p) { return {p.plan, p.sizes, p.dtype}; }

// How many buckets of a pass begin before its small all-reduce: the collective without which the
// others are the plan's buckets. 0 where it is the first, or where none can be told apart.
std::size_t buckets_before(const UnusedProblem& p,
                           std::span<const sim::CollectiveRecord* const> of) {
  std::vector<std::int64_t> planned;
  for (const auto& members : p.plan.buckets) {
    std::int64_t count = 0;
    for (const std::size_t i : members) count += p.sizes[i];
    planned.push_back(count * static_cast<std::int64_t>(bytes_of(p.dtype)));
  }
  for (std::size_t at = 0; at < of.size(); ++at) {
    std::vector<std::int64_t> others;
    for (std::size_t k = 0; k < of.size(); ++k) {
      if (k != at) others.push_back(of[k]->bytes);
    }
    if (others == planned) return at;
  }
  return 0;
}

void check_count(CaseRunner& runner, const Played& played, const UnusedProblem& p,
                 std::size_t seen) {
  const std::size_t most = (p.plan.buckets.size() + 1) * p.passes.size();
  if (seen < most) throw MalformedMessage("fewer collectives than buckets");
  if (seen == most) return;
  runner.fail(played, because({"too_many_collectives",
                               "one small all-reduce tells of all parameters: a number for each"},
                              {.verdict = Verdict::efficiency,
                               .message = text("the gradients are right, but there are ",
                                               counted(seen, "collective"), " in ",
                                               counted(std::ssize(p.passes), "pass"), " of ",
                                               counted(std::ssize(p.plan.buckets), "bucket")),
                               .expected = counted(most, "collective"),
                               .seen = counted(seen, "collective")}));
}

void check_small(CaseRunner& runner, const Played& played, const UnusedProblem& p, std::size_t pass,
                 const sim::CollectiveRecord& users) {
  const std::int64_t most = 8 * std::ssize(p.sizes);
  if (users.bytes <= most) return;
  runner.fail(played, because({"large_all_reduce", "a number for each parameter is enough"},
                              wasteful("large_all_reduce", static_cast<double>(users.bytes),
                                       static_cast<double>(most), "in the small all-reduce",
                                       text("the gradients are right, but", in_pass(p, pass),
                                            " the all-reduce that tells of ",
                                            counted(std::ssize(p.sizes), "parameter"), " has ",
                                            users.bytes, " bytes"))));
}

// No case has as many ranks as it takes.
void check_counts_all(CaseRunner& runner, const Played& played, const UnusedProblem& p,
                      std::size_t pass, const sim::CollectiveRecord& users) {
  const bool bytes = users.dtype == DType::uint8 || users.dtype == DType::int8;
  if (!bytes || users.reduce != ReduceOp::sum) return;
  const std::string_view dtype = name_of(users.dtype);
  runner.fail(
      played,
      because({"wraps_to_zero", text("a ", dtype,
                                     " holds the sum modulo 256, so with 256 users it is 0; sum "
                                     "in int64, or take the maximum instead of the sum")},
              {.message = text("the gradients are right on ", counted(p.ranks(), "rank"), ", but",
                               in_pass(p, pass), " the all-reduce that tells of ",
                               counted(std::ssize(p.sizes), "parameter"), " is a sum of ", dtype,
                               ": on 256 ranks, a parameter that all ranks use counts "
                               "as unused"),
               .expected = "a sum that no number of ranks wraps to 0",
               .seen = text("a sum of ", dtype)}));
}

void check_starts_first(CaseRunner& runner, const Played& played, const UnusedProblem& p,
                        std::size_t pass, std::size_t before) {
  if (before == 0) return;
  runner.fail(played,
              because({"starts_late",
                       "it is not started in begin_with_unused, before the reducer is told of the "
                       "first parameter; so it cannot travel while backward computes"},
                      {.verdict = Verdict::efficiency,
                       .message = text("the gradients are right, but", in_pass(p, pass),
                                       " rank 0 starts the small all-reduce behind ",
                                       buckets_of(p).text_of(before - 1)),
                       .expected = "the small all-reduce before bucket 0",
                       .seen = text("behind bucket ", before - 1),
                       .where = text("rank 0, bucket ", before - 1, in_pass(p, pass))}));
}

// Only where a rank is late does rank 0 fill a bucket before all ranks have begun.
void check_waits_for_nobody(CaseRunner& runner, const Played& played, const UnusedProblem& p,
                            std::size_t pass, const sim::CollectiveRecord& users,
                            const sim::CollectiveRecord& bucket) {
  if (p.late_s == 0 || bucket.entered_s.front() < users.done_s) return;
  const auto moment = [](double seconds) {
    return text("at ", std::llround(seconds * 1e6), " µs of the simulated run");
  };
  runner.fail(
      played,
      because(
          {"waits_at_the_beginning",
           "start the small all-reduce, keep its Work, and wait in end_with_unused"},
          {.verdict = Verdict::efficiency,
           .message = text("the gradients are right, but", in_pass(p, pass), " rank 0 starts ",
                           buckets_of(p).text_of(0),
                           " only when the small all-reduce is over: its backward waits for rank ",
                           p.ranks() - 1, ", which begins last"),
           .expected = text("before the small all-reduce is over, ", moment(users.done_s)),
           .seen = moment(bucket.entered_s.front()),
           .where = text("rank 0, bucket 0", in_pass(p, pass))}));
}

// A bucket's place for one parameter, or its grad, was given a grad of the shape of another.
void explain_other_shape(Failure& found, const UnusedProblem& p) {
  const std::size_t at = found.message.find(" cannot take ");
  if (at == std::string::npos) return;
  std::vector<std::size_t> named;  // parameters with the two shapes
  for (const std::size_t begin : {found.message.rfind('[', at), found.message.find('[', at)}) {
    if (begin == std::string::npos) return;
    const std::string shape =
        found.message.substr(begin, found.message.find(']', begin) + 1 - begin);
    const auto has_it = [&](std::int64_t size) {
      return shape == lockstep::text_of(shape_of_parameter(size)) || shape == text("[", size, "]");
    };
    const auto size = std::ranges::find_if(p.sizes, has_it);
    if (size == p.sizes.end()) return;
    named.push_back(static_cast<std::size_t>(size - p.sizes.begin()));
  }
  if (named[0] == named[1]) return;
  found = because_instead(
      {"grad_of_another",
       text("the grad of parameter ", named[0], " has the shape of parameter ", named[1],
            ": copies that were kept came back to other parameters, as where one without a grad "
            "has no place in the list of copies")},
      std::move(found));
}

}  // namespace

void check_cost(CaseRunner& runner, const Played& played, const UnusedProblem& p) {
  const Collectives all = in_order(played);
  check_count(runner, played, p, all.size());
  const std::size_t of_pass = p.plan.buckets.size() + 1;
  for (std::size_t pass = 0; pass < p.passes.size(); ++pass) {
    const auto mine = std::span(all).subspan(pass * of_pass, of_pass);
    const std::size_t before = buckets_before(p, mine);
    check_small(runner, played, p, pass, *mine[before]);
    check_counts_all(runner, played, p, pass, *mine[before]);
    check_starts_first(runner, played, p, pass, before);
    check_waits_for_nobody(runner, played, p, pass, *mine[0], *mine[1]);
  }
}

void explain_found(Failure& found, const UnusedProblem& p) {
  if (found.verdict == Verdict::crash) return explain_other_shape(found, p);
  if (found.verdict != Verdict::mismatch) return;
  std::map<std::string, int> ranks;  // what it is → the first rank that calls it
  std::string late;
  for (const sim::FoundCall& call : found.calls) {
    const auto bucket = buckets_of(p).bucket_of(call);
    const std::string what = bucket ? buckets_of(p).text_of(*bucket) : "the small all-reduce";
    if (ranks.try_emplace(what, call.rank).second && bucket && late.empty()) {
      late = text("rank ", call.rank, ", bucket ", *bucket);
    }
  }
  if (ranks.size() < 2 || late.empty()) return;
  bool first = true;
  for (const auto& [what, rank] : ranks) {
    found.message += text(first ? "; here, " : ", and ", "rank ", rank, " starts ", what);
    first = false;
  }
  found.where += ", " + late;
  found.expected = "the small all-reduce, then the buckets, on every rank";
  found.seen = text(late, " first");
  const Cause cause{found.cause,
                    "every pass of every rank starts the small all-reduce, also one that uses all "
                    "parameters, and tells the reducer of a parameter only after that"};
  found = because(cause, std::move(found));
}

}  // namespace lockstep::grader::unused_parameters
