// The exam of data_parallel_threads: the master's gradients must be those of one device that is
// given the whole batch, in each step. What is copied, and when each pass ran, is told by fakes
// inside the player; values alone are the judge's own evidence.
#include <cmath>

#include "engine/base/units.hpp"
#include "grader/exam/function_exam.hpp"
#include "grader/exam/gradient_rules.hpp"
#include "grader/exam/training_tolerance.hpp"
#include "grader/judge/compare.hpp"
#include "grader/parts/07_ddp/data_parallel_threads/case.hpp"
#include "grader/parts/07_ddp/data_parallel_threads/oracle.hpp"

namespace lockstep::grader::data_parallel_threads {
namespace {

// A step is one forward and one backward pass, so in float64 only the order of a few sums is free.
std::vector<double> tolerance_of(DType dtype, std::span<const double> expected) {
  std::vector<double> tolerance = training_tolerance(dtype, expected);
  if (dtype != DType::float64) return tolerance;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    tolerance[i] = 1e-12 * std::max(1.0, std::fabs(expected[i]));
  }
  return tolerance;
}

using Breaks = ThreadsQuestion::Breaks;

std::string text_of(const ThreadsQuestion& q) {
  std::string words =
      text("steps of ", listed(q.batches), " samples on ", q.devices,
           q.devices == 1 ? " device" : " devices", q.dtype == DType::float32 ? ", float32" : "");
  if (q.breaks == Breaks::nothing) return words;
  return text(words, ", where device ", q.broken, " breaks in the last ",
              q.breaks == Breaks::forward ? "forward" : "backward");
}

struct KnownMistake {
  Variant variant;
  Cause cause;
};

const std::vector<KnownMistake>& known_mistakes() {
  static const std::vector<KnownMistake> all{
      {Variant::averaged,
       {"averaged",
        "the gradients of the devices are averaged, but the loss is a mean over the whole batch "
        "already, so they are summed"}},
      {Variant::means_summed,
       {"means_summed",
        "each device's loss is the mean over its own chunk, and these count as 1 each"}},
      {Variant::means_averaged,
       {"means_averaged",
        "it is the mean of the chunks' means; a smaller chunk then counts too much"}},
      {Variant::first_only, {"first_only", "only device 0's chunk is in the gradients"}},
      {Variant::not_the_first, {"first_missing", "device 0's chunk is missing from the gradients"}},
      {Variant::stale,
       {"stale_replicas",
        "the other devices still have the parameters of the first step; replicate in every step"}},
      {Variant::own_numbers,
       {"not_replicated",
        "the other devices compute with numbers of their own; the master's parameters are copied "
        "to them in every step"}},
  };
  return all;
}

Cause cause_of(const ThreadsQuestion& q, std::size_t step, std::span<const double> seen) {
  if (!all_finite(seen)) {
    return {"no_number",
            "this value is not finite: some outputs or gradients were never written, such as those "
            "of the last chunk"};
  }
  for (const KnownMistake& mistake : known_mistakes()) {
    const auto other = step_of_one(q, step, mistake.variant).gradients;
    if (!first_difference(seen, other, tolerance_of(q.dtype, other))) return mistake.cause;
  }
  if (q.keeps != 0 && step > 0) {
    return {"other_gradients",
            "the master had gradients before this step; those of the step are added to them"};
  }
  return {"other_gradients", "a chunk is missing, counts twice, or has another chunk's labels"};
}

std::optional<Failure> wrong_values(const ThreadsQuestion& q, std::size_t k,
                                    const ThreadsStep& step) {
  const StepOfOne right = step_of_one(q, k, Variant::right);
  const auto seen = as_doubles(q.dtype, step.gradients);
  const auto at = first_difference(seen, right.gradients, tolerance_of(q.dtype, right.gradients));
  if (at) {
    return because(
        cause_of(q, k, seen),
        {.message = text("in step ", k, ", element ", *at, " of the master's gradients is ",
                         number_at(seen, *at), " where one device that gets the whole batch has ",
                         number_at(right.gradients, *at)),
         .expected = number_at(right.gradients, *at),
         .seen = number_at(seen, *at)});
  }
  const std::vector<double> loss{step.loss}, wanted{right.loss};
  if (first_difference(loss, wanted, tolerance_of(q.dtype, wanted))) {
    return because({"wrong_loss", "the loss is the mean over all labels of the batch"},
                   {.message = text("the gradients are right, but the loss of step ", k, " is ",
                                    number(step.loss), " where the mean is ", number(right.loss)),
                    .expected = number(right.loss),
                    .seen = number(step.loss)});
  }
  return std::nullopt;
}

// The failure by what the fakes report.
std::optional<Failure> wrong_places(const ThreadsQuestion& q, std::size_t k,
                                    const ThreadsStep& step) {
  std::vector<std::int64_t> wanted;
  for (std::int64_t d = 0; d < q.devices; ++d) wanted.push_back(q.samples(q.batches[k], d));
  if (step.forwarded != wanted) {
    return because({"other_chunks",
                    "device d computes the samples from d·⌈B/N⌉ on, ⌈B/N⌉ of them or what is left"},
                   {.message = text("the values are right, but in step ", k, " samples ",
                                    listed(step.forwarded), " went through the devices"),
                    .expected = listed(wanted),
                    .seen = listed(step.forwarded)});
  }
  if (step.away > 0) {
    return because({"inputs_elsewhere", "a device cannot read another one's memory: copy_to"},
                   {.message = text("in step ", k, ", ", counted(step.away, "device"),
                                    step.away == 1 ? " was" : " were",
                                    " given inputs that lie on another device")});
  }
  if (step.left > 0) {
    return because({"gradients_left",
                    "the next step's backward adds to them: take them away when they are summed"},
                   {.message = text("after step ", k, ", replicas other than the master have ",
                                    counted(step.left, "gradient"))});
  }
  return std::nullopt;
}

std::optional<Failure> wrong_copies(const ThreadsQuestion& q, std::size_t k,
                                    const ThreadsStep& step) {
  const std::int64_t batch = q.batches[k], others = q.used(batch) - 1;
  const auto size = static_cast<std::int64_t>(bytes_of(q.dtype));
  const std::int64_t moved = batch - q.samples(batch, 0);  // samples of the other devices
  const std::int64_t model = others * elements * size;
  const std::int64_t inputs = moved * width * size, outputs = moved * classes * size;
  // Labels, losses and gradients of outputs may travel, according to where the loss is computed.
  const std::int64_t least_out = model + inputs, most_out = least_out + outputs + 8 * moved;
  const std::int64_t least_back = model, most_back = model + outputs + 8 * others;
  const auto lead = text("the values are right, but in step ", k, " ");
  const auto range = [](std::int64_t from, std::int64_t to) {
    return text(grouped(from), " to ", grouped(to), " bytes");
  };
  if (step.from_0 < least_out || step.to_0 < least_back) {
    const bool out = step.from_0 < least_out;
    return because({"not_through_copies",
                    "parameters, inputs and gradients get to another device by copy_to only"},
                   {.message = text(lead, "only ", grouped(out ? step.from_0 : step.to_0),
                                    " bytes were copied ", out ? "from" : "to", " device 0"),
                    .expected = out ? range(least_out, most_out) : range(least_back, most_back),
                    .seen = grouped(out ? step.from_0 : step.to_0)});
  }
  if (step.from_0 <= most_out && step.to_0 <= most_back && step.others == 0) return std::nullopt;
  const auto total = [](std::int64_t a, std::int64_t b) {
    return text(grouped(a), " and ", grouped(b));
  };
  return because({"copied_too_much",
                  "parameters leave device 0 once for each other device that has samples, and "
                  "gradients come back once; nothing else is copied but inputs and outputs"},
                 {.verdict = Verdict::efficiency,
                  .message = text(lead, total(step.from_0, step.to_0),
                                  " bytes were copied from and to device 0, and ",
                                  grouped(step.others), " elsewhere"),
                  .expected = text("at most ", total(most_out, most_back), ", and none elsewhere"),
                  .seen = text(total(step.from_0, step.to_0), ", and ", grouped(step.others))});
}

// Each pass takes time, so passes that run at once overlap.
std::optional<Failure> in_turn(const ThreadsQuestion& q, std::size_t k, const char* pass,
                               const std::vector<PassSpan>& spans) {
  if (std::ssize(spans) != q.devices) throw MalformedMessage("not the times of every device");
  const auto micros = [](double seconds) { return text(std::lround(seconds * 1e6), " µs"); };
  const auto used = static_cast<std::size_t>(q.used(q.batches[k]));
  for (std::size_t later = 0; later < used; ++later) {
    for (std::size_t first = 0; first < used; ++first) {
      const PassSpan &before = spans[first], &after = spans[later];
      if (later == first || after.from_s < before.to_s) continue;
      return because(
          {"one_after_another", "start all strands before you wait for one of them"},
          {.message =
               text("the values are right, but in step ", k, " device ", later, " begins its ",
                    pass, " pass at ", micros(after.from_s), ", when that of device ", first,
                    ", from ", micros(before.from_s), " to ", micros(before.to_s),
                    ", is over: the devices compute in turn, not at the same time"),
           .expected = text("passes that begin before ", micros(before.to_s)),
           .seen = micros(after.from_s),
           .where = text("device ", later)});
    }
  }
  return std::nullopt;
}

std::optional<Failure> wrong_times(const ThreadsQuestion& q, std::size_t k,
                                   const ThreadsStep& step) {
  if (auto failure = in_turn(q, k, "forward", step.forwards)) return failure;
  return in_turn(q, k, "backward", step.backwards);
}

using Look = std::optional<Failure> (*)(const ThreadsQuestion&, std::size_t, const ThreadsStep&);

std::optional<Failure> wrong(const ThreadsQuestion& q, const ThreadsAnswer& seen,
                             std::span<const Look> looks) {
  const bool breaks = q.breaks != Breaks::nothing;
  const bool threw = seen.last.kind != Ending::Kind::returned;
  if (threw && !breaks) {
    return unexpected_error(seen.last, text_of(q));
  }
  if (seen.steps.size() != q.batches.size()) throw MalformedMessage("not an answer of each step");
  const std::size_t whole = q.batches.size() - (breaks ? 1 : 0);
  for (std::size_t k = 0; k < whole; ++k) {
    for (const Look look : looks) {
      if (auto failure = look(q, k, seen.steps[k])) return failure;
    }
  }
  if (!breaks || seen.last.kind == Ending::Kind::threw_expected) return std::nullopt;
  const std::string instead = threw ? text("threw ", thrown_text(seen.last)) : "returned a loss";
  return because(
      {"exception_lost",
       "an exception ends in the strand that threw it, unless join() brings it out"},
      {.message = text("device ", q.broken, " threw in its strand, but the part ", instead),
       .expected = "the exception of the device",
       .seen = instead});
}

FunctionContract<ThreadsQuestion, ThreadsAnswer> contract_of(std::vector<Look> looks) {
  return {.text_of = text_of,
          .wrong = [looks = std::move(looks)](
                       std::span<const ThreadsQuestion> asked,
                       const ThreadsAnswer& seen) { return wrong(asked.back(), seen, looks); },
          // Every question has a model of its own.
          .is_right = [](const ThreadsQuestion&, const ThreadsAnswer&) { return false; },
          .sizes = [](const ThreadsQuestion& q) -> Sizes {
            return {q.devices, q.batches};
          },
          .least_count = 1,
          .throws = [](const ThreadsQuestion& q) { return q.breaks != Breaks::nothing; },
          .situations =
              [](const ThreadsQuestion& q) {
                return q.dtype == DType::float64 ? std::vector{Situation::double_digits}
                                                 : std::vector<Situation>{};
              }};
}

ThreadsQuestion breaking(ThreadsQuestion q, Breaks breaks, std::int64_t broken) {
  q.breaks = breaks;
  q.broken = broken;
  return q;
}

}  // namespace

Exam exam() {
  static const auto values = contract_of({wrong_values, wrong_places, wrong_times});
  static const auto copies = contract_of({wrong_values, wrong_copies, wrong_times});
  return {
      {"on 1 to 8 and 13 devices, gradients and loss are those of one device",
       [](CaseRunner& runner) {
         const auto of = [&](const std::vector<std::int64_t>& counts) {
           std::vector<ThreadsQuestion> questions;
           for (const std::int64_t n : counts) {
             questions.push_back(question_of(n, {2 * n}, runner.draw()));
           }
           ask(runner, values, text("chunks of 2 samples on ", listed(counts), " devices"),
               questions);
         };
         of({2});
         of({3, 4, 1});
         of({5, 6, 7, 8, 13, 17});
       }},
      {"batches that do not divide, down to one sample",
       [](CaseRunner& runner) {
         const auto of = [&](std::int64_t devices, const std::vector<std::int64_t>& batches) {
           std::vector<ThreadsQuestion> questions;
           for (const std::int64_t batch : batches) {
             questions.push_back(question_of(devices, {batch}, runner.draw()));
           }
           ask(runner, values,
               text("batches of ", listed(batches), " samples on ", devices, " devices"),
               questions);
         };
         of(3, {4, 7, 2, 1});
         of(4, {5, 3, 6});
         of(8, {9, 17, 7});
       }},
      {"in every step, replicas are made anew, whatever the sizes of the batches, and gradients "
       "are "
       "added to those that the master has",
       [](CaseRunner& runner) {
         ask(runner, values, "three steps", {question_of(2, {4, 4, 4}, runner.draw())});
         ThreadsQuestion keeps = question_of(3, {6, 6, 5}, runner.draw());
         keeps.keeps = 1;
         ask(runner, values, "gradients that stay", {keeps});
         ask(runner, values, "batches that change", {question_of(4, {8, 3, 9, 1}, runner.draw())});
       }},
      {"float32",
       [](CaseRunner& runner) {
         ask(runner, values, "float32", {question_of(3, {6, 5}, runner.draw(), DType::float32)});
       }},
      {"an exception of any device comes out, of forward and of backward",
       [](CaseRunner& runner) {
         for (const Breaks breaks : {Breaks::forward, Breaks::backward}) {
           for (const std::int64_t broken : {0, 2}) {
             ask(runner, values, text("device ", broken, " breaks"),
                 {breaking(question_of(3, {6, 6}, runner.draw()), breaks, broken),
                  question_of(3, {6, 6}, runner.draw())});
           }
         }
       }},
      {"parameters leave device 0 once for each other device, and gradients come back once",
       [](CaseRunner& runner) {
         ask(runner, copies, "what is copied", {question_of(4, {8, 8}, runner.draw())});
         ask(runner, copies, "devices without samples",
             {question_of(1, {3}, runner.draw()), question_of(4, {5}, runner.draw()),
              question_of(8, {3}, runner.draw())});
       },
       {},
       Asks::cost},
  };
}

}  // namespace lockstep::grader::data_parallel_threads
