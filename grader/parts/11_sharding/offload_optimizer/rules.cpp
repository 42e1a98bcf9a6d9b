// The rules of offload_optimizer: parameters after each step, when copies and updates begin, and
// what crosses the link.
#include "grader/parts/11_sharding/offload_optimizer/rules.hpp"

#include <algorithm>
#include <cmath>

#include "engine/base/units.hpp"
#include "grader/judge/compare.hpp"

namespace lockstep::grader::offload_optimizer {
namespace {

using Problem = OffloadProblem;

// Memory that is neither masters nor moments: messages, and a copy of parameters or gradients,
// which have 1 MB each in the cases that are measured. Masters alone have 2 MB, and moments 4 MB.
constexpr std::int64_t others_bytes = std::int64_t{5} << 18;

// A bucket on one device that keeps everything.
class RightBucket {
 public:
  RightBucket(DType dtype, const Bytes& parameters)
      : dtype_(dtype), values_(as_doubles(dtype, parameters)) {
    const auto count = std::ssize(values_);
    master_ = from_values(values_, {count}, DType::float32, device_);
    first_ = zeros({count}, DType::float32, device_);
    second_ = zeros({count}, DType::float32, device_);
  }
  void update(const Bytes& gradient, const AdamRule& rule, std::int64_t updates) {
    const auto values = as_doubles(dtype_, gradient);
    const Tensor grad = from_values(values, {std::ssize(values)}, DType::float32, device_);
    ops::adam_update_(master_, grad, first_, second_, rule, updates);
    values_ = as_doubles(dtype_, copy_of(master_.to(dtype_)));
  }
  const std::vector<double>& values() const { return values_; }

 private:
  DType dtype_;
  CpuDevice device_;
  Tensor master_, first_, second_;
  std::vector<double> values_;  // of 16 bits
};

// The parameters after each step, by bucket.
using Right = std::vector<std::vector<std::vector<double>>>;
Right train(const Problem& p, std::uint64_t salt) {
  const OffloadCase c = case_of(p, salt);
  std::vector<std::unique_ptr<RightBucket>> buckets;
  for (const Bytes& parameters : c.parameters) {
    buckets.push_back(std::make_unique<RightBucket>(p.dtype, parameters));
  }
  std::vector<std::int64_t> updates(buckets.size());
  Right right;
  for (std::size_t step = 0; step < p.steps.size(); ++step) {
    const auto& gradients = p.steps[step];
    for (std::size_t event = 0; event < gradients.size(); ++event) {
      const std::uint32_t bucket = gradients[event];
      const auto here = gradients.begin() + static_cast<std::ptrdiff_t>(event);
      if (std::find(here + 1, gradients.end(), bucket) != gradients.end()) continue;  // again
      buckets[bucket]->update(gradient_of(p, salt, step, event), c.rule(), ++updates[bucket]);
    }
    auto& after = right.emplace_back();
    for (const auto& bucket : buckets) after.push_back(bucket->values());
  }
  return right;
}

// Off by less than the last place of 16 bits.
std::vector<double> tolerance_of(DType dtype, const std::vector<double>& values) {
  std::vector<double> tolerance;
  for (const double value : values) tolerance.push_back(epsilon_of(dtype) * std::fabs(value) / 4);
  return tolerance;
}

const Cause not_brought_up{"not_brought_up",
                           "each bucket with a gradient is updated, whatever those before it have, "
                           "and step() returns when "
                           "its masters are up: wait for each copy"};

std::string at(std::size_t step) { return text("step ", step); }

bool came(const Problem& p, std::size_t step, std::size_t bucket) {
  return std::ranges::count(p.steps[step], bucket) > 0;
}

Cause cause_of(const Problem& p, const StepNotes& notes, std::size_t step, std::size_t bucket,
               bool unmoved) {
  if (!came(p, step, bucket)) {
    return {"updated_without_gradient",
            "its gradient did not come in this step, so neither values nor state may change"};
  }
  if (std::ranges::count(notes.stale, bucket) > 0) {
    return {"stale_gradient",
            "the host's update began before the copy of this gradient was over, and read what was "
            "there before: wait for the copy first"};
  }
  if (notes.early_copies > 0) {
    return {"copied_before_update",
            "the copy up began before the update was over, and read the old master"};
  }
  if (unmoved && (notes.left_copies > 0 || notes.up_bytes == 0)) {
    return not_brought_up;
  }
  return {
      "other_parameters",
      "each master is updated once, by its own bucket's gradient, moments and number of updates, "
      "and rounded once"};
}

// A right training that costs too much.
struct Waste {
  Cause cause;
  std::string what, expected, seen;
  Verdict verdict = Verdict::efficiency;
};
[[noreturn]] void fail(CaseRunner& runner, const Played& played, const std::string& where,
                       const Waste& waste) {
  runner.fail(played, because(waste.cause, {.verdict = waste.verdict,
                                            .message = where + ": " + waste.what,
                                            .expected = waste.expected,
                                            .seen = waste.seen,
                                            .where = where}));
}

// Fails when more bytes crossed the link than are allowed. `what`: "bytes went down".
void check_link(CaseRunner& runner, const Played& played, const std::string& where,
                const std::string& what, std::int64_t crossed, std::int64_t allowed,
                const Cause& cause) {
  if (crossed <= allowed) return;
  fail(runner, played, where,
       {.cause = cause,
        .what = text(grouped(crossed), " ", what, " where ", grouped(allowed), " are enough"),
        .expected = text(grouped(allowed), " bytes"),
        .seen = text(grouped(crossed), " bytes")});
}

// A part that keeps its state on the host asks it for so much at least, in every step.
void check_offloaded(CaseRunner& runner, const Played& played, const Problem& p,
                     const HostService& host) {
  for (std::size_t step = 0; step < p.steps.size(); ++step) {
    std::int64_t elements = 0, bytes = 0;
    for (std::size_t bucket = 0; bucket < p.sizes.size(); ++bucket) {
      if (!came(p, step, bucket)) continue;
      elements += p.sizes[bucket];
      bytes += p.bytes_of_bucket(bucket);
    }
    const auto check = [&](std::int64_t seen, std::int64_t least, const char* what) {
      if (seen >= least) return;
      fail(
          runner, played, at(step),
          {.cause = {"state_on_the_device",
                     "the parameters are right, so they were updated on the device: adam() updates "
                     "masters and moments on the host, and copy_up() brings the parameters"},
           .what =
               text(grouped(seen), what, " where the gradients that came need ", grouped(least)),
           .expected = grouped(least),
           .seen = grouped(seen),
           .verdict = Verdict::memory});
    };
    const StepNotes& notes = host.in_step(step);
    check(notes.updated, elements, " elements were updated on the host");
    check(notes.up_bytes, bytes, " bytes came up");
  }
}

std::string microseconds(double seconds) {
  return text(number(std::round(seconds * 1e10) / 1e4), " µs");
}

}  // namespace

void check_values(CaseRunner& runner, const Played& played, const Problem& p, std::uint64_t salt,
                  const HostService& host) {
  const Right right = train(p, salt);
  for (std::size_t step = 0; step < right.size(); ++step) {
    const StepNotes& notes = host.in_step(step);
    if (notes.early_updates > 0) {
      fail(runner, played, at(step),
           {.cause = {"updated_early",
                      "the caller may still clip, or give the step up: update in step()"},
            .what = "an update began before step() was called",
            .expected = "no update before step()",
            .seen = counted(notes.early_updates, "update"),
            .verdict = Verdict::wrong_answer});
    }
    const std::vector<Bytes>& after = host.after(step);
    for (std::size_t bucket = 0; bucket < p.sizes.size(); ++bucket) {
      const auto seen = as_doubles(p.dtype, after[bucket]);
      const auto& expected = right[step][bucket];
      const auto wrong = first_difference(seen, expected, tolerance_of(p.dtype, expected));
      if (!wrong) continue;
      const auto before = step > 0 ? right[step - 1][bucket]
                                   : as_doubles(p.dtype, first_parameters(p, salt, bucket));
      const std::string good = number_at(expected, *wrong, p.dtype);
      const std::string bad = number_at(seen, *wrong, p.dtype);
      fail(runner, played, text(at(step), ", bucket ", bucket),
           {.cause = cause_of(p, notes, step, bucket, !first_other_bits(seen, before)),
            .what = text("parameter ", *wrong, " is ", bad, " where Adam gives ", good),
            .expected = good,
            .seen = bad,
            .verdict = Verdict::wrong_answer});
    }
    if (notes.left_copies == 0) continue;
    fail(runner, played, at(step),
         {.cause = not_brought_up,
          .what = "the parameters are right, and step() returned before a copy up was waited for",
          .expected = "every copy up is waited for",
          .seen = text(notes.left_copies, " were not"),
          .verdict = Verdict::wrong_answer});
  }
}

void check_events(CaseRunner& runner, const Played& played, const Problem& p,
                  const HostService& host) {
  check_offloaded(runner, played, p, host);
  const Cause cause{"not_sent", "start its copy in on_gradient_shard(), and wait for it in step()"};
  for (std::size_t step = 0; step < p.steps.size(); ++step) {
    const StepNotes& notes = host.in_step(step);
    if (!notes.not_sent.empty()) {
      fail(runner, played, at(step),
           {.cause = cause,
            .what = text("the gradient of bucket ", notes.not_sent.front(),
                         " came, and its copy had not begun when backward went on"),
            .expected = "a copy that begins at once",
            .seen = "none yet"});
    }
    if (notes.waited.empty()) continue;
    fail(runner, played, at(step),
         {.cause = {"waited", cause.sentence},
          .what = text("after the gradient of bucket ", notes.waited.front(),
                       ", backward went on later than it could: something was waited for"),
          .expected = "no waiting in on_gradient_shard()",
          .seen = "it waited"});
  }
}

void check_time(CaseRunner& runner, const Played& played, const Problem& p,
                const HostService& host) {
  check_offloaded(runner, played, p, host);
  for (std::size_t step = 0; step < p.steps.size(); ++step) {
    const StepNotes& notes = host.in_step(step);
    if (notes.took_s <= notes.best_s * (1 + 1e-9)) continue;
    const std::string best = microseconds(notes.best_s), took = microseconds(notes.took_s);
    fail(runner, played, at(step),
         {.cause = {"one_after_the_other",
                    "a bucket's parameters travel while the host updates the next bucket: start "
                    "all updates, then each copy when its update is over, and wait for the copies "
                    "last"},
          .what = text("step() takes ", took, " where ", best, " are enough"),
          .expected = best,
          .seen = took});
  }
}

void check_bytes(CaseRunner& runner, const Played& played, const Problem& p,
                 const HostService& host) {
  check_offloaded(runner, played, p, host);
  std::int64_t all = 0;
  for (std::size_t bucket = 0; bucket < p.sizes.size(); ++bucket) all += p.bytes_of_bucket(bucket);
  check_link(runner, played, "make_offload_optimizer",
             "bytes crossed the link before the first gradient,",
             host.before().down_bytes + host.before().up_bytes, all,
             {"too_much_first",
              "the parameters go down once, in 16 bits, and become the masters; moments begin as "
              "zeros, which allocate() makes"});
  for (std::size_t step = 0; step < p.steps.size(); ++step) {
    const StepNotes& notes = host.in_step(step);
    std::int64_t down = 0, up = 0;
    for (const std::uint32_t bucket : p.steps[step]) down += p.bytes_of_bucket(bucket);
    for (std::size_t bucket = 0; bucket < p.sizes.size(); ++bucket) {
      if (came(p, step, bucket)) up += p.bytes_of_bucket(bucket);
    }
    check_link(runner, played, at(step), "bytes went down", notes.down_bytes, down,
               {"too_much_down",
                "per step, each gradient goes down once, in 16 bits; masters and moments stay on "
                "the host"});
    check_link(runner, played, at(step), "bytes went up", notes.up_bytes, up,
               {"too_much_up",
                "per step, parameters come up once, in 16 bits; masters and moments stay on the "
                "host"});
  }
}

void check_memory(CaseRunner& runner, const Played& played, const Problem& p,
                  const HostService& host) {
  check_offloaded(runner, played, p, host);
  const std::int64_t held = host.memory_bytes();
  if (held <= others_bytes) return;
  fail(runner, played, "its memory",
       {.cause = {"state_on_the_device",
                  "masters and moments belong into the host's memory: allocate() makes tensors "
                  "there, and adam() updates them there"},
        .what = text("the device's process came to hold ", grouped(held),
                     " bytes more than parameters and gradients"),
        .expected = text("at most ", grouped(others_bytes), " bytes more"),
        .seen = text(grouped(held), " bytes more"),
        .verdict = Verdict::memory});
}

}  // namespace lockstep::grader::offload_optimizer
