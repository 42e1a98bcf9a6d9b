// The exam of zero_2_gradients. The judge plays backward to it, event by event, and sees when each
// bucket starts to travel. A rank reports its range of the sums alone; the judge looks at its
// memory after each event.
#include <algorithm>
#include <numeric>

#include "engine/base/units.hpp"
#include "grader/exam/driven/overlap.hpp"
#include "grader/exam/ranks/checks.hpp"
#include "grader/exam/ranks/traffic.hpp"
#include "grader/exam/ranks/wire_price.hpp"
#include "grader/judge/keyed.hpp"
#include "grader/parts/11_sharding/zero_2_gradients/rules.hpp"

namespace lockstep::grader::zero_2_gradients {
namespace {

using collectives::BucketPlan;
using Before = DrivenPass::Before;
using Makes = DrivenPass::Makes;
using Order = DrivenPass::Order;
using Contract = RanksContract<Problem, Zero2Case, Zero2Report, ScriptService, MomentService>;

Zero2Case case_of(const Problem& p, std::uint64_t salt, int rank) {
  Zero2Case one{.plan = p.plan, .sums = p.sums()};
  for (std::size_t b = 0; b < p.plan.buckets.size(); ++b) one.cuts.push_back(p.cut(b));
  one.parameters.dtype = p.script.dtype;
  one.parameters.sizes = p.script.sizes;
  one.parameters.has_grad.assign(p.script.sizes.size(), 0);
  one.parameters.grads.resize(p.script.sizes.size());
  one.parameters.allocation_seed = keyed_bits(salt, 77 + static_cast<std::uint64_t>(rank)) >> 32;
  return one;
}

void compare(CaseRunner& runner, const Played& played, const Problem& p, std::uint64_t salt,
             const Reports& reports, const ScriptService& events, const MomentService&) {
  check_sums(runner, played, p, salt, reports, events);
}

// Each bucket starts as soon as its gradients are there and the one before it is over; hooks wait
// for nothing else, and finalize for the last bucket.
void check_starts(CaseRunner& runner, const Played& played, const Problem& p, std::uint64_t salt,
                  const Reports& reports, const ScriptService& events, const MomentService&) {
  check_sums(runner, played, p, salt, reports, events);
  std::vector<AwaitedCollective> awaited;
  for (std::size_t b = 0; b < p.plan.buckets.size(); ++b) {
    awaited.push_back({p.plan.buckets[b], p.bytes(p.cut(b).padded())});
  }
  const std::vector<DrivenReport> none;
  check_overlap(runner, played, {p.script, p.members, salt, events, none}, awaited, InFlight::one);
}

// A member tells of a call between the event that it was made for and the next one: it could do so
// before it has begun to hold anything.
//   Throws  MalformedMessage
void require_in_turn(const ScriptService& events, const MomentService& moments, int rank) {
  const std::vector<double>& told_s = moments.of(rank).told_s;
  const std::vector<ScriptService::Note>& notes = events.notes(rank);
  std::size_t calls = 0;
  for (std::size_t at = 0; at < notes.size(); ++at) {
    const DrivenEvent::Kind kind = notes[at].scripted.event.kind;
    if (kind != DrivenEvent::Kind::ready && kind != DrivenEvent::Kind::finalize) continue;
    const double told = told_s.at(++calls);
    const bool early = told < notes[at].given_s;
    if (early || (at + 1 < notes.size() && told > notes[at + 1].asked_s)) {
      throw MalformedMessage("a member told of a call out of turn");
    }
  }
}

// The sums; the gradients that wait for their bucket, and no others; two buckets in flat tensors.
// Beside the parameters, the adapter has a copy of them for each pass that is over.
void compare_memory(CaseRunner& runner, const Played& played, const Problem& p, std::uint64_t salt,
                    const Reports& reports, const ScriptService& events,
                    const MomentService& moments) {
  check_sums(runner, played, p, salt, reports, events);
  check_freed(runner, played, p, reports, events);
  std::int64_t sums = 0, bucket = 0, values = 0;
  const std::int64_t passes = std::ssize(p.script.passes);
  for (std::size_t b = 0; b < p.plan.buckets.size(); ++b) {
    const zero::FlatShards cut = p.cut(b);
    sums += cut.shard * static_cast<std::int64_t>(bytes_of(p.sums()));
    bucket = std::max(bucket, p.bytes(cut.padded() + cut.shard));
    values += p.bytes(cut.count);
  }
  for (int rank = 0; rank < p.ranks(); ++rank) {
    require_in_turn(events, moments, rank);
    EnoughMemory enough{.tensor_bytes = sums + 3 * bucket + 4096,
                        .adapter_bytes = passes * values + 2 * bucket,
                        .of_what = "its sums and the buckets in flight",
                        .cause = {"gradients_kept",
                                  "gradients that have been reduced are still there: in the "
                                  "parameters' grads, or in the bucket's flat tensor"}};
    check_member_memory(runner, played, rank, moments.of(rank), enough);
    enough.cause = {"scratch",
                    "the call makes more than a bucket's flat tensor and this rank's range of it, "
                    "and lets it go at its end"};
    check_member_peak(runner, played, rank, moments.of(rank), enough);
  }
}

// The bucket that a call reduces, if only one is as long.
std::optional<std::size_t> bucket_of(const Problem& p, const sim::FoundCall& call) {
  std::optional<std::size_t> found;
  for (std::size_t b = 0; b < p.plan.buckets.size(); ++b) {
    const std::int64_t shard = p.cut(b).shard;
    if (call.count != shard && call.count != shard * p.ranks()) continue;
    if (found) return std::nullopt;
    found = b;
  }
  return found;
}

// Ranks that reduce different buckets with one collective; a crash where finalize ends a bucket
// that this pass did not start.
void explain(Failure& found, const Problem& p, const ScriptService& events) {
  if (found.verdict == Verdict::mismatch && found.calls.size() > 1) {
    const auto one = bucket_of(p, found.calls.front()), other = bucket_of(p, found.calls.back());
    if (!one || !other || one == other) return;
    const Cause cause{
        found.cause,
        text("these are buckets ", std::min(*one, *other), " and ", std::max(*one, *other),
             ": every rank starts all buckets in the order of the plan, also one of which it has "
             "no gradient; one that is full early waits for those before it")};
    found = because(cause, std::move(found));
  }
  if (found.cause != "undefined_tensor") return;
  for (int rank = 0; rank < p.ranks(); ++rank) {
    const auto& notes = events.notes(rank);
    if (notes.empty() || notes.back().scripted.event.kind != DrivenEvent::Kind::finalize) continue;
    const bool first = notes.back().scripted.pass == 0;
    found = because_instead(
        first ? Cause{"not_started",
                      "finalize ends a bucket that no call started: when a bucket starts, those "
                      "behind it can be full already, so start buckets in a loop"}
              : Cause{"not_reset",
                      "finalize ends a bucket that this pass did not start, though the pass before "
                      "did; it has to set `missing` of each bucket to the number of its parameters "
                      "again, and next_ to 0"},
        std::move(found));
    return;
  }
}

const Contract contract{
    .case_of = case_of,
    .compare = compare,
    .ask_of = [](const Problem& p, std::uint64_t salt, int rank, const Zero2Case&,
                 Situations& asked) { grader::ask_of(p.script, salt, rank, asked); },
    .smaller = smaller_by(fewer_ranks, shorter([](auto& p) -> auto& { return p.script.passes; })),
    .services =
        [](CaseRunner& runner, const Problem& p, std::uint64_t salt) {
          using Measures = MomentService::Measures;
          return std::tuple(
              service_of(p.script, p.members, salt),
              MomentService(runner, p.members, p.script.passes.size() * (p.script.sizes.size() + 1),
                            p.measured ? Measures::both : Measures::nothing));
        },
    .explain = [](Failure& found, const Problem& p, const ScriptService& events,
                  const MomentService&) { explain(found, p, events); }};

constexpr double quick_s = 4e-6, slow_s = 80e-6;  // gradients, beside reductions of some 20e-6

const std::vector<DrivenPass> several_passes{
    {}, {.before = Before::kept}, {.before = Before::kept}, {}, {.before = Before::added}, {}};

const RanksChecks checks(contract, [](Problem& p) {
  p.script.sizes = {35, 12, 1, 64, 72, 13};
  p.script.passes = {{}};
  p.plan = {{{5, 4}, {3}, {2, 1, 0}}};
});

// The usual problem, with other passes.
std::function<void(Problem&)> with(std::vector<DrivenPass> passes) {
  return [passes = std::move(passes)](Problem& p) { p.script.passes = passes; };
}
const std::vector<DrivenPass> two_passes{{}, {.before = Before::kept}};

void any_plan(CaseRunner& runner) {
  const auto ask = [&](int ranks, const std::vector<std::int64_t>& sizes, const BucketPlan& plan) {
    checks.ask(runner, ranks, [&](Problem& p) {
      p.script.passes = two_passes;
      p.script.sizes = sizes;
      p.plan = plan;
    });
  };
  ask(3, {35, 7, 1, 64, 16, 13}, {{{5, 4, 3, 2, 1, 0}}});
  ask(4, {35, 7, 1, 64, 16, 13}, {{{0}, {1}, {2}, {3}, {4}, {5}}});
  ask(3, {9, 0, 4, 0}, {{{3, 2}, {1, 0}}});
  ask(5, {1, 2}, {{{1}, {0}}});  // ranges of padding alone
}

// Passes add up in float32. With one rank, nothing else rounds.
void wide_sums(CaseRunner& runner) {
  std::vector<DrivenPass> passes(8, {.before = Before::kept});
  passes.front() = {};
  for (const DType dtype : {DType::bfloat16, DType::float16}) {
    for (const int ranks : {1, 2}) checks.types({dtype}, ranks, with(passes))(runner);
  }
  checks.types({DType::float64}, 3, with(two_passes))(runner);
}

void overlap(CaseRunner& runner) {
  for (const int ranks : {2, 4, 3}) {
    for (const double gap_s : {slow_s, quick_s}) {
      checks.compared(check_starts).ask(runner, ranks, [&](Problem& p) {
        p.script.passes = {{.order = Order::last_first}, {}};
        p.script.sizes = {400, 130, 50, 1000, 8, 300, 77, 500};
        p.script.gap_s = gap_s;
        p.plan = {{{7, 6}, {5, 4}, {3}, {2, 1, 0}}};
      });
    }
  }
}

void check_bytes(CaseRunner& runner, const Played& played, const Problem& p) {
  double once = 0;
  for (std::size_t b = 0; b < p.plan.buckets.size(); ++b) {
    once += shard_bytes(p.bytes(p.cut(b).padded()), p.ranks());
  }
  const auto passes = static_cast<double>(p.script.passes.size());
  check_wire(runner, played,
             {.enough = passes * once,
              .of_what = "one reduce-scatter of each bucket",
              .mistakes = {
                  {2 * passes * once,
                   {"all_reduced",
                    "buckets are all-reduced: every rank gets all of a bucket, and keeps its "
                    "range. Or they travel in a type that is twice as wide as the gradients'"}}}});
  const std::int64_t buckets = std::ssize(p.plan.buckets) * std::ssize(p.script.passes);
  check_operations(runner, played,
                   {.collectives = buckets, .allowed = "one reduce-scatter of each bucket"});
}

// Sixteen buckets of 192 kB. Passes add up: what the first one let go must not be missed in the
// second one.
void large_buckets(Problem& p) {
  p.script.passes = {{.order = Order::last_first},
                     {.before = Before::kept, .order = Order::last_first}};
  p.script.sizes.assign(16, 48 << 10);
  p.measured = true;
  p.plan.buckets.clear();
  for (std::size_t i = 16; i-- > 0;) p.plan.buckets.push_back({i});
}

void two_priced_passes(Problem& p) {
  p.script.passes = two_passes;
  if (p.ranks() == 3) p.script.dtype = DType::bfloat16;  // and not in the type of the sums
}

}  // namespace

Exam exam() {
  return {
      {"on 1 to 8 and 13 ranks, each range has the mean, in whatever order gradients come",
       checks.every_size()},
      {"passes add up until zero_grad, and no whole grad is left",
       checks.on({2, 3, 5}, with(several_passes))},
      {"a gradient that is missing counts as zeros, and one from before the pass travels along",
       checks.on({3, 2}, with({{.makes = Makes::some_absent},
                               {.before = Before::kept, .makes = Makes::some_absent},
                               {.before = Before::added, .makes = Makes::some_elsewhere}}))},
      {"any plan: one bucket, a bucket for each parameter, ranges of padding", any_plan},
      {"halves add up in float32, and float64 in float64", wide_sums},
      {"NaN and infinity on one rank arrive, zeros are gradients, too, and no sum overflows of "
       "which the mean fits",
       in_turn(checks.odd_values(3, with(two_passes)), checks.large_values(),
               checks.large_values(2, [](Problem& p) { p.script.dtype = DType::float16; }))},
      {"in a subgroup, twice", checks.twice_in_a_subgroup(with({{}, {}}))},
      checks.lost_peers(3, 20),
      of_cost("each bucket starts during backward, once the one before it is over, and no hook "
              "waits for anything else",
              overlap),
      of_cost("gradients that are reduced are gone",
              checks.compared(compare_memory).on({2}, large_buckets, check_bytes)),
      of_cost("(N-1)/N of each bucket travels",
              checks.price({2, 3, 8, 1}, check_bytes, two_priced_passes)),
  };
}

}  // namespace lockstep::grader::zero_2_gradients
