// A collective that the core objects to is a bucket of the plan: its elements say which one, and
// its time says in which pass it was started, and with which gradients.
#include "grader/parts/07_ddp/bucketed_reducer/found.hpp"

#include <algorithm>
#include <map>

#include "grader/exam/driven/found_buckets.hpp"
#include "grader/judge/compare.hpp"

namespace lockstep::grader::bucketed_reducer {
namespace {

void say_cause(Failure& found, const std::string& sentence) {
  const Cause cause{found.cause, sentence};
  found = because(cause, std::move(found));
}

// A call of a rank, and what it is.
struct Started {
  int rank = 0;  // of the world
  std::size_t bucket = 0;
  ReachedPass reached;
};

struct Found {
  const DrivenScript& script;
  const Members& members;
  const std::vector<collectives::BucketPlan>& plans;
  const ScriptService& events;

  const collectives::BucketPlan& plan_of(std::size_t pass) const {
    std::size_t made = 0;
    for (std::size_t p = 0; p <= pass && p < script.passes.size(); ++p) {
      if (script.passes[p].part == DrivenPass::Part::is_remade) ++made;
    }
    return plans[std::min(made, plans.size() - 1)];
  }
  PlannedBuckets buckets_of(std::size_t pass) const {
    return {plan_of(pass), script.sizes, script.dtype};
  }
  std::string in_pass(std::size_t pass) const {
    return script.passes.size() > 1 ? text(" in pass ", pass + 1) : "";
  }

  std::optional<Started> started(const sim::FoundCall& call) const {
    if (!members.contain(call.rank)) return std::nullopt;
    Started one{call.rank, 0,
                reached_pass(events.notes(members.group_rank(call.rank)), call.posted_s)};
    const auto bucket = buckets_of(one.reached.pass).bucket_of(call);
    if (!bucket) return std::nullopt;
    one.bucket = *bucket;
    return one;
  }
  std::string where(const Started& one) const {
    return text("rank ", one.rank, ", bucket ", one.bucket, in_pass(one.reached.pass));
  }
};

// Ranks reduce different buckets with one collective: of each bucket, the first rank is named.
void explain_mismatch(Failure& found, const Found& in, const std::vector<Started>& all) {
  std::map<std::size_t, const Started*> by_bucket;
  for (const Started& one : all) by_bucket.try_emplace(one.bucket, &one);
  if (by_bucket.size() < 2) return;
  for (const auto& [bucket, one] : by_bucket) {
    const std::size_t pass = one->reached.pass;
    const bool first = bucket == by_bucket.begin()->first;
    found.message += text(first ? "; here, " : ", and ", "rank ", one->rank, " reduces ",
                          in.buckets_of(pass).text_of(bucket), in.in_pass(pass));
  }
  const Started& early = *by_bucket.rbegin()->second;
  found.where += ", " + in.where(early);
  found.expected = text("bucket ", by_bucket.begin()->first, " on every rank");
  found.seen = text("bucket ", early.bucket, " on rank ", early.rank);
  say_cause(found,
            "buckets do not start in the order of the plan; a bucket that is full before "
            "its turn waits for those before it");
}

void explain_buffer(Failure& found, const Found& in, const Started& one) {
  const auto& [pass, ready] = one.reached;
  const PlannedBuckets buckets = in.buckets_of(pass);
  std::vector<std::size_t> came, lacking;
  for (const std::size_t i : buckets.plan.buckets[one.bucket]) {
    (std::ranges::find(ready, i) != ready.end() ? came : lacking).push_back(i);
  }
  found.where += ", " + in.where(one);
  found.message += text("; the buffer is ", buckets.text_of(one.bucket), in.in_pass(pass));
  const bool unwaited = found.message.find("never waited") != std::string::npos;
  if (unwaited) {
    found.expected = text("finalize waits for bucket ", one.bucket);
    found.seen = "no wait() for it";
    return;
  }
  if (lacking.empty()) {
    say_cause(found,
              "it was full when it was started, so something was written into it "
              "afterwards: multiply by the share before, and read it after wait()");
    return;
  }
  found.message += came.empty()
                       ? text(", and it was started when none of its gradients had come")
                       : text(", and it was started when the gradients of parameters ",
                              listed(came), " had come, but not those of ", listed(lacking));
  found.expected = text("bucket ", one.bucket, " starts when it has all its gradients");
  found.seen = text("it starts without those of parameters ", listed(lacking));
  say_cause(found, text("a bucket is started before it is full",
                        pass > 0 ? "; what is counted in a pass must be set back for "
                                   "the next"
                                 : ""));
}

}  // namespace

void explain_found(Failure& found, const DrivenScript& script, const Members& members,
                   const std::vector<collectives::BucketPlan>& plans, const ScriptService& events) {
  const Found in{script, members, plans, events};
  // Its orders of gradients differ by rank: another rank has started what this one never did.
  const bool never_started =
      found.message.find("returned without calling it") != std::string::npos &&
      script.end == DrivenScript::End::finished;
  if (found.verdict == Verdict::deadlock && never_started) {
    say_cause(found,
              "a full bucket was never started: one gradient may complete several buckets, so "
              "start each one whose turn it is, until one is not full");
    return;
  }
  std::vector<Started> all;
  for (const sim::FoundCall& call : found.calls) {
    if (auto one = in.started(call)) all.push_back(std::move(*one));
  }
  if (all.empty()) return;
  if (found.verdict == Verdict::mismatch) explain_mismatch(found, in, all);
  if (found.verdict == Verdict::in_flight) explain_buffer(found, in, all.front());
}

}  // namespace lockstep::grader::bucketed_reducer
