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

class Judgement {
 public:
  Judgement(CaseRunner& runner, const Played& played, const Problem& p, std::uint64_t salt,
            const HostService& host)
      : runner_(runner), played_(played), p_(p), salt_(salt), host_(host) {}

  void check_values() const;
  void check(Property property) const;

 private:
  [[noreturn]] void fail(const Cause& cause, const std::string& what, const std::string& where,
                         Verdict verdict, std::string expected, std::string seen) const {
    runner_.fail(played_, because(cause, {.verdict = verdict,
                                          .message = where + ": " + what,
                                          .expected = std::move(expected),
                                          .seen = std::move(seen),
                                          .where = where}));
  }
  static std::string at(std::size_t step) { return text("step ", step); }
  Cause cause_of(std::size_t step, std::size_t bucket, const std::vector<double>& seen,
                 const std::vector<double>& before) const;
  bool came(std::size_t step, std::size_t bucket) const {
    return std::ranges::count(p_.steps[step], bucket) > 0;
  }
  void check_offloaded(std::size_t step) const;
  void check_events(std::size_t step) const;
  void check_time(std::size_t step) const;
  void check_bytes(std::size_t step) const;
  void check_first_bytes() const;
  void check_memory() const;

  CaseRunner& runner_;
  const Played& played_;
  const Problem& p_;
  std::uint64_t salt_;
  const HostService& host_;
};

Cause Judgement::cause_of(std::size_t step, std::size_t bucket, const std::vector<double>& seen,
                          const std::vector<double>& before) const {
  const StepNotes& notes = host_.in_step(step);
  if (!came(step, bucket)) {
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
  if (!first_other_bits(seen, before) && (notes.left_copies > 0 || notes.up_bytes == 0)) {
    return {"not_brought_up",
            "the values are those from before the step: the masters have to come up, and step() "
            "returns when they are there"};
  }
  return {
      "other_parameters",
      "each master is updated once, by its own bucket's gradient and moments, and rounded once"};
}

void Judgement::check_values() const {
  const Right right = train(p_, salt_);
  for (std::size_t step = 0; step < right.size(); ++step) {
    const StepNotes& notes = host_.in_step(step);
    if (notes.early_updates > 0) {
      fail({"updated_early", "the caller may still clip, or give the step up: update in step()"},
           "an update began before step() was called", at(step), Verdict::wrong_answer,
           "no update before step()", counted(notes.early_updates, "update"));
    }
    const std::vector<Bytes>& after = host_.after(step);
    for (std::size_t bucket = 0; bucket < p_.sizes.size(); ++bucket) {
      const auto seen = as_doubles(p_.dtype, after[bucket]);
      const auto& expected = right[step][bucket];
      const auto wrong = first_difference(seen, expected, tolerance_of(p_.dtype, expected));
      if (!wrong) continue;
      const auto before = step > 0 ? right[step - 1][bucket]
                                   : as_doubles(p_.dtype, first_parameters(p_, salt_, bucket));
      const std::string good = number_at(expected, *wrong, p_.dtype);
      const std::string bad = number_at(seen, *wrong, p_.dtype);
      const std::string where = text(at(step), ", bucket ", bucket);
      fail(cause_of(step, bucket, seen, before),
           text("parameter ", *wrong, " is ", bad, " where Adam gives ", good), where,
           Verdict::wrong_answer, good, bad);
    }
  }
}

// A part that keeps its state on the host asks it for so much at least.
void Judgement::check_offloaded(std::size_t step) const {
  const StepNotes& notes = host_.in_step(step);
  std::int64_t elements = 0, bytes = 0;
  for (std::size_t bucket = 0; bucket < p_.sizes.size(); ++bucket) {
    if (!came(step, bucket)) continue;
    elements += p_.sizes[bucket];
    bytes += p_.bytes_of_bucket(bucket);
  }
  const auto check = [&](std::int64_t seen, std::int64_t least, const char* what) {
    if (seen >= least) return;
    fail(
        {"state_on_the_device",
         "the parameters are right, so they were updated on the device: adam() updates masters and "
         "moments on the host, and copy_up() brings the parameters"},
        text(grouped(seen), what, " where the gradients that came need ", grouped(least)), at(step),
        Verdict::memory, text(grouped(least)), text(grouped(seen)));
  };
  check(notes.updated, elements, " elements were updated on the host");
  check(notes.up_bytes, bytes, " bytes came up");
}

void Judgement::check_events(std::size_t step) const {
  const StepNotes& notes = host_.in_step(step);
  if (!notes.not_sent.empty()) {
    fail({"not_sent", "start its copy in on_gradient_shard(), and wait for it in step()"},
         text("the gradient of bucket ", notes.not_sent.front(),
              " came, and its copy had not begun when backward went on"),
         at(step), Verdict::efficiency, "a copy that begins at once", "none yet");
  }
  if (!notes.waited.empty()) {
    fail({"waited", "start its copy in on_gradient_shard(), and wait for it in step()"},
         text("after the gradient of bucket ", notes.waited.front(),
              ", backward went on later than it could: something was waited for"),
         at(step), Verdict::efficiency, "no waiting in on_gradient_shard()", "it waited");
  }
}

std::string microseconds(double seconds) {
  return text(number(std::round(seconds * 1e10) / 1e4), " µs");
}

void Judgement::check_time(std::size_t step) const {
  const StepNotes& notes = host_.in_step(step);
  if (notes.took_s <= notes.best_s * (1 + 1e-9)) return;
  fail({"one_after_the_other",
        "a bucket's parameters travel while the host updates the next bucket: start all updates, "
        "then each copy when its update is over, and wait for the copies last"},
       text("step() takes ", microseconds(notes.took_s), " where ", microseconds(notes.best_s),
            " are enough"),
       at(step), Verdict::efficiency, microseconds(notes.best_s), microseconds(notes.took_s));
}

void Judgement::check_bytes(std::size_t step) const {
  const StepNotes& notes = host_.in_step(step);
  std::int64_t down = 0, up = 0;
  for (const std::uint32_t bucket : p_.steps[step]) down += p_.bytes_of_bucket(bucket);
  for (std::size_t bucket = 0; bucket < p_.sizes.size(); ++bucket) {
    if (came(step, bucket)) up += p_.bytes_of_bucket(bucket);
  }
  const auto check = [&](const char* way, std::int64_t crossed, std::int64_t allowed,
                         const Cause& cause) {
    if (crossed <= allowed) return;
    fail(cause,
         text(grouped(crossed), " bytes went ", way, " where ", grouped(allowed), " are enough"),
         at(step), Verdict::efficiency, text(grouped(allowed), " bytes"),
         text(grouped(crossed), " bytes"));
  };
  check("down", notes.down_bytes, down,
        {"too_much_down",
         "per step, each gradient goes down once, in 16 bits; masters and moments stay on the "
         "host"});
  check("up", notes.up_bytes, up,
        {"too_much_up",
         "per step, parameters come up once, in 16 bits; masters and moments stay on the host"});
}

void Judgement::check_first_bytes() const {
  std::int64_t allowed = 0;
  for (std::size_t bucket = 0; bucket < p_.sizes.size(); ++bucket) {
    allowed += p_.bytes_of_bucket(bucket);
  }
  const StepNotes& notes = host_.before();
  const std::int64_t crossed = notes.down_bytes + notes.up_bytes;
  if (crossed <= allowed) return;
  fail({"too_much_first",
        "the parameters go down once, in 16 bits, and become the masters; moments begin as zeros, "
        "which allocate() makes"},
       text(grouped(crossed), " bytes crossed the link before the first gradient, where ",
            grouped(allowed), " are enough"),
       "make_offload_optimizer", Verdict::efficiency, text(grouped(allowed), " bytes"),
       text(grouped(crossed), " bytes"));
}

void Judgement::check_memory() const {
  const std::int64_t held = host_.memory_bytes();
  if (held <= others_bytes) return;
  fail({"state_on_the_device",
        "masters and moments belong into the host's memory: allocate() makes tensors there, and "
        "adam() updates them there"},
       text("the device's process came to hold ", grouped(held),
            " bytes more than parameters and gradients"),
       "its memory", Verdict::memory, text("at most ", grouped(others_bytes), " bytes more"),
       text(grouped(held), " bytes more"));
}

void Judgement::check(Property property) const {
  for (std::size_t step = 0; step < p_.steps.size() && property != Property::values; ++step) {
    check_offloaded(step);
  }
  if (property == Property::memory) return check_memory();
  if (property == Property::bytes) check_first_bytes();
  for (std::size_t step = 0; step < p_.steps.size(); ++step) {
    if (property == Property::events) check_events(step);
    if (property == Property::time) check_time(step);
    if (property == Property::bytes) check_bytes(step);
  }
}

}  // namespace

void check(CaseRunner& runner, const Played& played, const OffloadProblem& p, std::uint64_t salt,
           const HostService& host, Property property) {
  const Judgement judgement(runner, played, p, salt, host);
  judgement.check_values();
  judgement.check(property);
}

}  // namespace lockstep::grader::offload_optimizer
