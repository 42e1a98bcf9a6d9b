// The exam of training_time: updates exactly, seconds to rounding, in both forms. The judge counts
// steps by dealing the samples out, and matches wrong answers against the usual misunderstandings.
#include "grader/parts/01_why_distribute/training_time/case.hpp"

#include <cmath>
#include <limits>
#include <optional>

#include "engine/base/units.hpp"
#include "grader/exam/function/exam.hpp"
#include "grader/judge/compare.hpp"
#include "grader/judge/keyed.hpp"
#include "grader/judge/wrong_number.hpp"

namespace lockstep::grader::training_time {
namespace {

using plan::TimeEstimate;

constexpr std::int64_t billion = 1'000'000'000;
constexpr std::int64_t beyond_double = (std::int64_t{1} << 54) + 1;

std::int64_t rounded_up(std::int64_t a, std::int64_t b) { return a / b + (a % b != 0); }

// How many steps an epoch has: the batches of the rank with the largest share.
std::int64_t steps_of(const TimeQuestion& q) {
  const std::int64_t largest_share = rounded_up(q.measured.samples, q.ranks);
  return rounded_up(largest_share, q.measured.batch_size);
}

double operations_of(const TimeQuestion& q) {
  return 6.0 * static_cast<double>(q.counted.parameters) * static_cast<double>(q.counted.tokens);
}

TimeEstimate expected_of(const TimeQuestion& q) {
  TimeEstimate e;
  if (q.form == TimeForm::measured) {
    e.updates = steps_of(q) * q.measured.epochs;
    e.seconds = static_cast<double>(e.updates) * q.measured.step_s / q.measured.efficiency;
    e.rank_seconds = e.seconds * q.ranks;
  } else {
    e.updates = rounded_up(q.counted.tokens, q.counted.batch_tokens);
    e.seconds = operations_of(q) / q.device.peak_flops_per_s / q.device.utilisation / q.ranks;
    e.rank_seconds = e.seconds * q.ranks;
  }
  return e;
}

std::string text_of(const TimeQuestion& q) {
  const std::string ranks = text(" on ", q.ranks, q.ranks == 1 ? " rank" : " ranks");
  if (q.form == TimeForm::measured) {
    const auto& m = q.measured;
    return text(grouped(m.samples), " samples", ranks, ", batches of ", m.batch_size, ", ",
                counted(m.epochs, "epoch"), ", ", number(m.step_s), " s per step, efficiency ",
                number(m.efficiency));
  }
  return text(grouped(q.counted.parameters), " parameters, ", grouped(q.counted.tokens), " tokens",
              ranks, ", ", grouped(q.counted.batch_tokens), " tokens per update, ",
              number(q.device.peak_flops_per_s), " FLOP/s at utilisation ",
              number(q.device.utilisation));
}

std::optional<Cause> wrapped(std::int64_t seen, std::int64_t right) {
  const std::int64_t left = in_32_bits(right);
  if (left == right || seen != left) return std::nullopt;
  return Cause{"wrapped_32", "this is the right count truncated to 32 bits"};
}

Cause wrong_updates_measured(const TimeQuestion& q, std::int64_t seen) {
  const auto& m = q.measured;
  if (const auto cause = wrapped(seen, steps_of(q) * m.epochs)) return *cause;
  TimeQuestion other = q;
  other.measured.batch_size = std::max<std::int64_t>(in_32_bits(m.batch_size), 1);
  if (in_32_bits(m.batch_size) != m.batch_size && seen == steps_of(other) * m.epochs) {
    return {"wrapped_32", "the batch size was stored in 32 bits, which hold at most 2,147,483,647"};
  }
  const std::int64_t together = m.batch_size * q.ranks;
  if (seen == steps_of(q))
    return {"one_epoch", "this is the number of updates in one epoch; the run has more epochs"};
  if (seen == rounded_up(m.samples, m.batch_size) * m.epochs) {
    return {"updates_of_one_rank",
            "this is one device's number; each update uses the samples of all ranks, so a run "
            "needs fewer updates"};
  }
  if (seen == m.samples / together * m.epochs ||
      seen == rounded_up(m.samples / q.ranks, m.batch_size) * m.epochs) {
    return {"rounded_down",
            "this leaves out the samples that do not fill a whole share or batch; round both up, "
            "because a short batch takes a step too"};
  }
  if (seen == rounded_up(m.samples * m.epochs, together)) {
    return {"epochs_run_together", "a batch does not span two epochs: round up in each epoch"};
  }
  return {"other_updates", "an epoch has as many updates as one rank's share has batches"};
}

Cause wrong_updates_counted(const TimeQuestion& q, std::int64_t seen) {
  const auto& c = q.counted;
  if (const auto cause = wrapped(seen, rounded_up(c.tokens, c.batch_tokens))) return *cause;
  if (const std::int64_t left = in_32_bits(c.batch_tokens); left != c.batch_tokens && left != 0) {
    if (seen == rounded_up(c.tokens, left) || seen == (c.tokens + left - 1) / left) {
      return {"wrapped_32",
              "the tokens per update were stored in 32 bits, which hold at most 2,147,483,647"};
    }
  }
  if (seen == c.tokens / c.batch_tokens) {
    return {"rounded_down", "this leaves out the last, short update"};
  }
  if (q.ranks > 1 && (seen == rounded_up(c.tokens, c.batch_tokens * q.ranks) ||
                      seen == rounded_up(c.tokens, c.batch_tokens) / q.ranks)) {
    return {"divided_by_ranks",
            "batch_tokens counts the tokens of all ranks together, so the number of ranks does not "
            "change the updates"};
  }
  return {"other_updates", "the number of updates is tokens / batch_tokens, rounded up"};
}

// The unit of `seen` if it is the right time in another unit; or nullptr.
const char* other_unit(double seen, double seconds) {
  if (near(seen, seconds / 60)) return "minutes";
  if (near(seen, seconds / 3600)) return "hours";
  if (near(seen, seconds / 86400)) return "days";
  return nullptr;
}

Cause wrong_seconds_measured(const TimeQuestion& q, double seen, const TimeEstimate& right) {
  const auto& m = q.measured;
  const double one_rank =
      static_cast<double>(rounded_up(m.samples, m.batch_size) * m.epochs) * m.step_s;
  if (near(seen, right.seconds * m.efficiency)) {
    return {"efficiency_ignored", "this is the time at efficiency 1; efficiency was left out"};
  }
  if (m.efficiency < 1 && near(seen, right.seconds / m.efficiency)) {
    return {"efficiency_twice", "the time was divided by efficiency twice; divide by it once"};
  }
  if (const char* unit = other_unit(seen, right.seconds)) {
    return {"unit", text("this is in ", unit, "; the contract asks for seconds")};
  }
  if (near(seen, right.seconds * m.efficiency * m.efficiency)) {
    return {"multiplied_by_efficiency",
            "an efficiency below 1 makes a step longer; multiplying by efficiency makes the step "
            "shorter"};
  }
  if (near(seen, one_rank / q.ranks) || near(seen, one_rank / q.ranks / m.efficiency)) {
    return {"divided_by_ranks",
            "this is one rank's time divided by the number of ranks; count steps instead, because "
            "a rank cannot take a fraction of a step"};
  }
  if (near(seen, one_rank) || near(seen, one_rank / m.efficiency)) {
    return {"time_of_one_rank", "this is the time one rank needs for all the work"};
  }
  return {"other_seconds",
          right.seconds == 0
              ? text("there are no updates, or each takes no time, so the total is 0")
              : text("this is ", number(seen / right.seconds),
                     " times the right value; seconds = updates · step_s / efficiency")};
}

Cause wrong_seconds_counted(const TimeQuestion& q, double seen, const TimeEstimate& right) {
  const double utilisation = q.device.utilisation;
  struct Factor {
    double of;
    const char *name, *sentence;
  };
  const Factor factors[] = {
      {4, "bytes_for_parameters",
       "four times the right value: the formula takes the number of parameters, "
       "not their bytes in float32"},
      {2, "bytes_for_parameters",
       "twice the right value: the formula takes the number of parameters, not "
       "their bytes"},
      {1.0 / 3, "forward_only",
       "a third of the right value: 2 operations per parameter and token cover the forward pass "
       "alone"},
      {2.0 / 3, "backward_only",
       "two thirds of the right value: this counts the backward pass without the forward pass"},
      {utilisation * utilisation, "multiplied_by_utilisation",
       "a device that runs below its peak takes longer, so divide by utilisation"},
      {utilisation, "utilisation_ignored",
       "this is the time at peak speed, which no training run reaches"},
      {static_cast<double>(q.ranks), "time_of_one_rank", "this is the time of one rank"},
      {1.0 / q.ranks, "divided_twice", "the work was divided by the number of ranks twice"},
  };
  for (const Factor& factor : factors) {
    if (factor.of != 1 && near(seen, right.seconds * factor.of)) {
      return {factor.name, factor.sentence};
    }
  }
  if (!std::isfinite(seen)) return {"no_number", "this is not a finite number"};
  if (const char* unit = other_unit(seen, right.seconds)) {
    return {"unit", text("this is in ", unit, "; the contract asks for seconds")};
  }
  if (seen <= 0 || seen < right.seconds / 1000) {
    return {"overflow",
            "this is far too small: 6 · parameters · tokens does not fit in 64 bits; multiply in "
            "double"};
  }
  return {"other_seconds", text("this is ", number(seen / right.seconds),
                                " times the right value; seconds = 6 · parameters · tokens / the "
                                "operations per second of all ranks")};
}

Cause wrong_cost(const TimeQuestion& q, double seen, const TimeEstimate& right) {
  if (near(seen, right.seconds)) {
    return {"cost_of_one_rank", "this is the cost of one rank; every rank is paid for"};
  }
  if (q.form == TimeForm::measured && near(seen, right.rank_seconds * q.measured.efficiency)) {
    return {"cost_without_losses",
            "lost time is paid for too: the cost rises by a factor of 1 / efficiency"};
  }
  return {"other_cost", "the cost is seconds times the number of ranks"};
}

Failure wrong_field(const TimeQuestion& q, const std::string& field, const std::string& seen,
                    const std::string& expected, const Cause& cause) {
  return because(cause, {.message = text(text_of(q), ": ", field, " is ", seen, " where ", expected,
                                         " was expected"),
                         .expected = text(field, " ", expected),
                         .seen = text(field, " ", seen)});
}

// `field` of what was right for the questions before the last.
template <typename Number>
std::vector<Number> earlier(std::span<const TimeQuestion> asked, Number TimeEstimate::*field) {
  return earlier_answers(asked, [&](const TimeQuestion& q) { return expected_of(q).*field; });
}

std::optional<Failure> wrong(std::span<const TimeQuestion> asked, const TimeEstimate& seen) {
  const TimeQuestion& q = asked.back();
  const TimeEstimate right = expected_of(q);
  const bool measured = q.form == TimeForm::measured;
  if (seen.updates != right.updates) {
    const Cause own =
        measured ? wrong_updates_measured(q, seen.updates) : wrong_updates_counted(q, seen.updates);
    const auto before = earlier(asked, &TimeEstimate::updates);
    return wrong_field(q, "updates", text(seen.updates), text(right.updates),
                       known_or_likely(own, WrongInteger{seen.updates, right.updates, before}));
  }
  if (!near(seen.seconds, right.seconds)) {
    const Cause own = measured ? wrong_seconds_measured(q, seen.seconds, right)
                               : wrong_seconds_counted(q, seen.seconds, right);
    const auto before = earlier(asked, &TimeEstimate::seconds);
    return wrong_field(q, "seconds", number(seen.seconds), number(right.seconds),
                       known_or_likely(own, WrongNumber{seen.seconds, right.seconds, before}));
  }
  if (!near(seen.rank_seconds, right.rank_seconds)) {
    const Cause own = wrong_cost(q, seen.rank_seconds, right);
    const auto before = earlier(asked, &TimeEstimate::rank_seconds);
    return wrong_field(
        q, "rank_seconds", number(seen.rank_seconds), number(right.rank_seconds),
        known_or_likely(own, WrongNumber{seen.rank_seconds, right.rank_seconds, before}));
  }
  return std::nullopt;
}

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

bool valid(const TimeQuestion& q) {
  const auto is_share = [](double share) { return share > 0 && share <= 1; };
  if (q.ranks < 1) return false;
  if (q.form == TimeForm::measured) {
    const auto& m = q.measured;
    return m.samples >= 1 && m.batch_size >= 1 && m.epochs >= 0 && m.step_s >= 0 &&
           is_share(m.efficiency);
  }
  const auto& c = q.counted;
  return c.parameters >= 1 && c.tokens >= 1 && c.batch_tokens >= 1 &&
         q.device.peak_flops_per_s > 0 && is_share(q.device.utilisation);
}

TimeQuestion measured(int ranks, const plan::MeasuredRun& run) {
  return {TimeForm::measured, ranks, run, {}, {}};
}
TimeQuestion counted(int ranks, const plan::CountedRun& run, const plan::Accelerator& device) {
  return {TimeForm::counted, ranks, {}, run, device};
}

const FunctionContract<TimeQuestion, TimeEstimate> contract{
    .text_of = text_of,
    .wrong = wrong,
    .refusals =
        {{.valid = valid,
          .accepts = {"accepts_nonsense",
                      "counts are positive, and efficiency and utilisation are in (0, 1]; "
                      "the checks above your region refuse the rest"},
          .nonsense = {measured(2, {100, 8, 1, 1.0, 0}), measured(0, {100, 8, 1, 1.0, 1}),
                       measured(2, {0, 8, 1, 1.0, 1}), measured(2, {100, 0, 1, 1.0, 1}),
                       measured(2, {100, 8, -1, 1.0, 1}), measured(2, {100, 8, 1, -1.0, 1}),
                       measured(2, {100, 8, 1, 1.0, 1.01}), measured(2, {100, 8, 1, 1.0, nan}),
                       measured(2, {100, 8, 1, 1.0, infinity}), measured(2, {100, 8, 1, 1.0, -0.0}),
                       counted(0, {5, 100, 8}, {1e12, 0.5}), counted(2, {0, 100, 8}, {1e12, 0.5}),
                       counted(2, {5, 0, 8}, {1e12, 0.5}), counted(2, {5, 100, 0}, {1e12, 0.5}),
                       counted(2, {5, 100, 8}, {0, 0.5}), counted(2, {5, 100, 8}, {1e12, 0}),
                       counted(2, {5, 100, 8}, {1e12, 1.01}),
                       counted(2, {5, 100, 8}, {1e12, nan})}}},
    .sizes = [](const TimeQuestion& q) -> Sizes {
      if (q.form == TimeForm::measured) return {q.ranks, {q.measured.samples}};
      return {q.ranks, {q.counted.tokens}};
    },
    .least_count = 1,
    .situations = [](const TimeQuestion&) { return std::vector{Situation::double_digits}; }};

double drawn_part(CaseRunner& runner) { return 0.1 + 0.8 * keyed_uniform(runner.draw(), 0); }

// Each count on each number of ranks, and a number of ranks that is as large as an int can be.
std::vector<TimeQuestion> runs_of_every_size(CaseRunner& runner, TimeForm form) {
  std::vector<TimeQuestion> questions;
  const auto add = [&](int ranks, std::int64_t count) {
    const double seconds = 0.01 + keyed_uniform(runner.draw(), 0);
    const std::int64_t batch = runner.draw_between(1, 300);
    if (form == TimeForm::measured) {
      const std::int64_t epochs = runner.draw_between(2, 90);
      questions.push_back(measured(ranks, {count, batch, epochs, seconds, drawn_part(runner)}));
    } else {
      const std::int64_t parameters = runner.draw_between(1, 1000 * billion);
      questions.push_back(
          counted(ranks, {parameters, count, batch}, {1e15 * seconds, drawn_part(runner)}));
    }
  };
  for (const int ranks : every_rank_count) {
    for (const std::int64_t count : every_count(ranks, 1)) add(ranks, count);
  }
  for (int k = 0; k < 20; ++k) add(1 << k, runner.draw_between(1, 20'000 * billion));
  add(std::numeric_limits<int>::max(), 1000);
  return questions;
}

}  // namespace

Exam exam() {
  const plan::CountedRun gpt3{175 * billion, 300 * billion, 3'200'000};
  return {
      {"ten epochs of a million samples take 86.8, 43.4 and 10.85 hours on 1, 2 and 8 ranks",
       [](CaseRunner& runner) {
         std::vector<TimeQuestion> questions;
         for (const int ranks : {1, 2, 8}) {
           questions.push_back(measured(ranks, {1'000'000, 32, 10, 1.0, 1.0}));
         }
         ask(runner, contract, "a million samples", questions);
       }},
      {"the last batch of an epoch takes a step, even a short batch",
       [](CaseRunner& runner) {
         ask(runner, contract, "shares and batches that do not divide",
             {measured(3, {100, 33, 3, 0.5, 1.0}), measured(3, {101, 34, 2, 0.5, 1.0}),
              measured(4, {10, 2, 3, 0.5, 1.0}), measured(8, {3, 32, 5, 0.5, 1.0}),
              measured(1, {1, 1, 1, 0.5, 1.0}), measured(5, {97, 7, 0, 0.5, 1.0}),
              measured(7, {30'000 * billion, 1, 1, 1e-6, 1.0}),
              measured(1, {beyond_double, 1, 1, 1e-6, 1.0}),
              measured(3, {60 * billion, 5 * billion, 2, 0.5, 1.0}),
              measured(2, {10, 2, 3, 0, 1.0}), measured(2, {10, 2, 3, -0.0, 1.0}),
              measured(2, {10, 2, 3, 0x1p-1060, 1.0})});
       }},
      {"an efficiency below 1 lengthens the run and raises the cost of every rank",
       [](CaseRunner& runner) {
         ask(runner, contract, "8 ranks at 0.8",
             {measured(8, {1'000'000, 32, 10, 1.0, 0.8}), measured(2, {4096, 64, 1, 0.25, 0.5})});
         ask(runner, contract, "runs of every size",
             runs_of_every_size(runner, TimeForm::measured));
       }},
      {"GPT-3 takes one device 356 years at 28 TFLOP/s, 200 at 40 % of 125 TFLOP/s",
       [=](CaseRunner& runner) {
         ask(runner, contract, "GPT-3",
             {counted(1, gpt3, {28e12, 1.0}), counted(1, gpt3, {125e12, 0.4}),
              counted(1024, gpt3, {312e12, 0.45})});
       }},
      {"any counted run is right, even with a short last update",
       [](CaseRunner& runner) {
         ask(runner, contract, "runs of every size", runs_of_every_size(runner, TimeForm::counted));
         ask(runner, contract, "one token per update",
             {counted(8, {billion, 20'000 * billion, 1}, {312e12, 0.4}),
              counted(8, {billion, beyond_double, 1}, {312e12, 0.4})});
         ask(runner, contract, "billions of tokens per update",
             {counted(8, {billion, 20'000 * billion, 3 * billion}, {312e12, 0.4})});
       }},
      check_of_refusals(contract, "counts, seconds and shares that make no sense are refused",
                        {measured(3, {100, 33, 3, 0.5, 1.0})}),
  };
}

}  // namespace lockstep::grader::training_time
