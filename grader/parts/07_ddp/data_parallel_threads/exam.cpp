// The exam of data_parallel_threads: the master's gradients must be those of one device that is
// given the whole batch, in each step. Copies and passes are requests to the judge (ledger.hpp): it
// knows what was copied, which samples went through which device, and when. What the player says of
// gradients that are left over can lower the verdict, and no more (decision 0055).
#include <algorithm>
#include <cmath>
#include <functional>

#include "engine/base/units.hpp"
#include "grader/exam/gradient_rules.hpp"
#include "grader/exam/odd_values.hpp"
#include "grader/exam/training_tolerance.hpp"
#include "grader/exam/wrong_ending.hpp"
#include "grader/judge/compare.hpp"
#include "grader/parts/07_ddp/data_parallel_threads/case.hpp"
#include "grader/parts/07_ddp/data_parallel_threads/ledger.hpp"

namespace lockstep::grader::data_parallel_threads {
namespace {

using Breaks = ThreadsQuestion::Breaks;

std::string text_of(const ThreadsQuestion& q) {
  std::string words =
      text("steps of ", listed(q.batches), " samples on ", q.devices,
           q.devices == 1 ? " device" : " devices", q.dtype == DType::float32 ? ", float32" : "",
           all_finite(q.inputs) ? "" : ", of which one holds a value that is not finite");
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

Cause cause_of(const ThreadsQuestion& q, std::size_t step, std::span<const double> seen,
               std::span<const double> right, std::size_t at) {
  if (!all_finite(right)) {
    if (auto cause = cause_by_finiteness(seen, right, at)) return *std::move(cause);
  }
  if (!all_finite(seen)) {
    return {"no_number",
            "this value is not finite: some outputs or gradients were never written, such as those "
            "of the last chunk"};
  }
  for (const KnownMistake& mistake : known_mistakes()) {
    const auto other = step_of_one(q, step, mistake.variant).gradients;
    if (!first_difference(seen, other, training_tolerance(q.dtype, other))) return mistake.cause;
  }
  if (q.keeps != 0 && step > 0) {
    return {"other_gradients",
            "the master had gradients before this step; those of the step are added to them"};
  }
  return {"other_gradients", "a chunk is missing, counts twice, or has another chunk's labels"};
}

// In float64, all right orders of summation agree to some 1e-15.
std::vector<double> tolerance_of(DType dtype, std::span<const double> expected) {
  if (dtype != DType::float64) return training_tolerance(dtype, expected);
  std::vector<double> tolerance;
  for (const double value : expected) tolerance.push_back(1e-12 * std::max(1.0, std::fabs(value)));
  return tolerance;
}

Cause rounded() {
  return {"rounded", "the number has the digits of a float; the model computes in float64"};
}
bool is_rounded(DType dtype, double seen, double right) {
  return dtype == DType::float64 &&
         std::fabs(seen - right) <= 1e-6 * std::max(1.0, std::fabs(right));
}

std::optional<Failure> wrong_values(const ThreadsQuestion& q, std::size_t k,
                                    const ThreadsStep& step, const StepSeen&) {
  const StepOfOne right = step_of_one(q, k, Variant::right);
  const auto seen = as_doubles(q.dtype, step.gradients);
  const auto at = first_difference(seen, right.gradients, tolerance_of(q.dtype, right.gradients));
  if (at) {
    const bool digits = seen.size() == right.gradients.size() &&
                        std::ranges::equal(seen, right.gradients, [&](double a, double b) {
                          return is_rounded(q.dtype, a, b);
                        });
    return because(
        digits ? rounded() : cause_of(q, k, seen, right.gradients, *at),
        {.message = text("in step ", k, ", element ", *at, " of the master's gradients is ",
                         number_at(seen, *at), " where one device that gets the whole batch has ",
                         number_at(right.gradients, *at)),
         .expected = number_at(right.gradients, *at),
         .seen = number_at(seen, *at)});
  }
  const std::vector<double> loss{step.loss}, wanted{right.loss};
  if (first_difference(loss, wanted, tolerance_of(q.dtype, wanted))) {
    return because(is_rounded(q.dtype, step.loss, right.loss)
                       ? rounded()
                       : Cause{"wrong_loss", "the loss is the mean over all labels of the batch"},
                   {.message = text("the gradients are right, but the loss of step ", k, " is ",
                                    number(step.loss), " where the mean is ", number(right.loss)),
                    .expected = number(right.loss),
                    .seen = number(step.loss)});
  }
  return std::nullopt;
}

// The samples that each device computed, in the order in which they came.
std::vector<std::vector<std::int64_t>> samples_by_device(const ThreadsQuestion& q,
                                                         const StepSeen& ledger) {
  std::vector<std::vector<std::int64_t>> samples(static_cast<std::size_t>(q.devices));
  for (const DevicePass& pass : ledger.passes) {
    auto& mine = samples[static_cast<std::size_t>(pass.device)];
    mine.insert(mine.end(), pass.samples.begin(), pass.samples.end());
  }
  return samples;
}

std::optional<Failure> wrong_places(const ThreadsQuestion& q, std::size_t k,
                                    const ThreadsStep& step, const StepSeen& ledger) {
  std::vector<std::int64_t> wanted, counts;
  bool in_order = true;
  const auto samples = samples_by_device(q, ledger);
  for (std::int64_t d = 0; d < q.devices; ++d) {
    wanted.push_back(q.samples(q.batches[k], d));
    const auto& mine = samples[static_cast<std::size_t>(d)];
    counts.push_back(std::ssize(mine));
    for (std::size_t i = 0; i < mine.size(); ++i) {
      in_order = in_order && mine[i] == d * q.chunk(q.batches[k]) + static_cast<std::int64_t>(i);
    }
  }
  if (counts != wanted || !in_order) {
    return because({"other_chunks",
                    "device d computes the samples from d·⌈B/N⌉ on, ⌈B/N⌉ of them or what is left"},
                   {.message = text("the values are right, but in step ", k, " ",
                                    counts == wanted ? "other " : "", "samples ", listed(counts),
                                    " went through the devices"),
                    .expected = listed(wanted),
                    .seen = listed(counts)});
  }
  const auto away = std::ranges::count(ledger.passes, false, &DevicePass::has_inputs);
  if (away > 0) {
    return because(
        {"inputs_elsewhere", "a device cannot read another one's memory: copy_to"},
        {.message = text("in step ", k, ", ", counted(away, "device"), away == 1 ? " was" : " were",
                         " given inputs that were never copied to it")});
  }
  if (step.left < 0) throw MalformedMessage("fewer gradients than none");
  if (step.left > 0) {
    return because({"gradients_left",
                    "the next step's backward adds to them: take them away when they are summed"},
                   {.message = text("after step ", k, ", replicas other than the master have ",
                                    counted(step.left, "gradient"))});
  }
  return std::nullopt;
}

std::optional<Failure> wrong_copies(const ThreadsQuestion& q, std::size_t k, const ThreadsStep&,
                                    const StepSeen& step) {
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
  const auto elsewhere = std::ranges::count(step.passes, false, &DevicePass::has_parameters);
  if (elsewhere > 0) {
    return because({"not_through_copies",
                    "parameters, inputs and gradients get to another device by copy_to only"},
                   {.message = text(lead, counted(elsewhere, "device"),
                                    " computed with parameters ", "that were never copied to it")});
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
std::optional<Failure> in_turn(std::size_t k, const char* name, const StepSeen& ledger,
                               const std::function<PassSpan(const DevicePass&)>& span) {
  const auto micros = [](double seconds) { return text(std::lround(seconds * 1e6), " µs"); };
  for (const DevicePass& later : ledger.passes) {
    for (const DevicePass& first : ledger.passes) {
      const PassSpan before = span(first), after = span(later);
      if (later.device == first.device || after.from_s < before.to_s) continue;
      return because(
          {"one_after_another", "start all strands before you wait for one of them"},
          {.message = text("the values are right, but in step ", k, " device ", later.device,
                           " begins its ", name, " pass at ", micros(after.from_s),
                           ", when that of device ", first.device, ", from ", micros(before.from_s),
                           " to ", micros(before.to_s),
                           ", is over: the devices compute in turn, not at the same time"),
           .expected = text("passes that begin before ", micros(before.to_s)),
           .seen = micros(after.from_s),
           .where = text("device ", later.device)});
    }
  }
  return std::nullopt;
}

std::optional<Failure> wrong_times(const ThreadsQuestion&, std::size_t k, const ThreadsStep&,
                                   const StepSeen& ledger) {
  const auto forward = [](const DevicePass& pass) { return pass.forward; };
  if (auto failure = in_turn(k, "forward", ledger, forward)) return failure;
  for (const DevicePass& pass : ledger.passes) {
    if (!pass.backward)
      throw MalformedMessage("a device did not go back, and the values are right");
  }
  return in_turn(k, "backward", ledger, [](const DevicePass& pass) { return *pass.backward; });
}

using Look = std::optional<Failure> (*)(const ThreadsQuestion&, std::size_t, const ThreadsStep&,
                                        const StepSeen&);

std::optional<Failure> wrong(const ThreadsQuestion& q, const ThreadsAnswer& seen,
                             const DeviceLedger& ledger, std::span<const Look> looks) {
  const bool breaks = q.breaks != Breaks::nothing;
  const bool threw = seen.last.kind != Ending::Kind::returned;
  if (threw && !breaks) {
    return unexpected_error(seen.last, text_of(q));
  }
  if (seen.steps.size() != q.batches.size()) throw MalformedMessage("not an answer of each step");
  const std::size_t whole = q.batches.size() - (breaks ? 1 : 0);
  for (std::size_t k = 0; k < whole; ++k) {
    for (const Look look : looks) {
      if (auto failure = look(q, k, seen.steps[k], ledger.of(q, k))) return failure;
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

// Some ten times what the wordiest case needs.
constexpr std::int64_t requests_max = 20'000;

// The situations into which questions put the part.
Situations asked_by(const std::vector<ThreadsQuestion>& questions) {
  Situations asked;
  for (const ThreadsQuestion& q : questions) {
    ask_of_values(q.inputs, asked);
    if (q.dtype == DType::float64) asked.insert(Situation::double_digits);
    if (q.devices == 13) asked.insert(Situation::rank_counts);
  }
  return asked;
}

// Plays one case: `questions`, one after the other, in one process.
void ask(CaseRunner& runner, std::span<const Look> looks, const std::string& description,
         const std::vector<ThreadsQuestion>& questions, Situations asked = {}) {
  DeviceLedger ledger(questions);
  asked.merge(asked_by(questions));
  const auto played =
      play_served(runner, description, std::vector<std::vector<ThreadsQuestion>>(1, questions),
                  {&ledger}, requests_max, asked);
  if (!played) return;
  ByteReader& result = played->results->of(0);
  for (const ThreadsQuestion& question : questions) {
    auto failure = wrong(question, read_fields<ThreadsAnswer>(result), ledger, looks);
    if (!failure) continue;
    if (failure->where.empty()) failure->where = text_of(question);
    runner.fail(*played, std::move(*failure));
  }
}

// A question whose numbers, and the judge's secret, are drawn.
ThreadsQuestion drawn_question(CaseRunner& runner, std::int64_t devices,
                               std::vector<std::int64_t> batches, DType dtype = DType::float64) {
  auto q = question_of(devices, std::move(batches), runner.draw_secretly(), dtype);
  q.secret = runner.draw_secretly();
  return q;
}

ThreadsQuestion breaking(ThreadsQuestion q, Breaks breaks, std::int64_t broken) {
  q.breaks = breaks;
  q.broken = broken;
  return q;
}

}  // namespace

Exam exam() {
  static const std::vector<Look> values{wrong_values, wrong_places, wrong_times};
  static const std::vector<Look> copies{wrong_values, wrong_copies, wrong_times};
  return {
      {"on 1 to 8 and 13 devices, gradients and loss are those of one device",
       [](CaseRunner& runner) {
         const auto of = [&](const std::vector<std::int64_t>& counts) {
           std::vector<ThreadsQuestion> questions;
           for (const std::int64_t n : counts) {
             questions.push_back(drawn_question(runner, n, {2 * n}));
           }
           ask(runner, values, text("chunks of 2 samples on ", listed(counts), " devices"),
               questions);
         };
         of({2});
         of({3, 4, 1});
         of({5, 6, 7, 8, 13});
       }},
      {"batches that do not divide, down to one sample",
       [](CaseRunner& runner) {
         const auto of = [&](std::int64_t devices, const std::vector<std::int64_t>& batches) {
           std::vector<ThreadsQuestion> questions;
           for (const std::int64_t batch : batches) {
             questions.push_back(drawn_question(runner, devices, {batch}));
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
         ask(runner, values, "three steps", {drawn_question(runner, 2, {4, 4, 4})});
         ThreadsQuestion keeps = drawn_question(runner, 3, {6, 6, 5});
         keeps.keeps = 1;
         ask(runner, values, "gradients that stay", {keeps});
         ask(runner, values, "batches that change", {drawn_question(runner, 4, {8, 3, 9, 1})});
       }},
      {"float32, and samples of several dimensions",
       [](CaseRunner& runner) {
         for (const auto& shape : {std::vector<std::int64_t>{2, 3}, {3, 1, 2}}) {
           ThreadsQuestion q = drawn_question(runner, 3, {5, 4});
           q.sample_shape = shape;
           ask(runner, values, text("samples of shape ", listed(shape)), {q});
         }
         ask(runner, values, "float32", {drawn_question(runner, 3, {6, 5}, DType::float32)});
       }},
      {"what is not finite in one device's chunk shows; a batch that comes twice counts twice",
       [](CaseRunner& runner) {
         for (const Odd odd : {Odd::not_a_number, Odd::infinity}) {
           ThreadsQuestion q = drawn_question(runner, 3, {6});
           make_odd(q.inputs, odd);
           ask(runner, values, odd == Odd::infinity ? "an infinity" : "a NaN", {q});
         }
         const auto twice = drawn_question(runner, 3, {5, 6});
         ask(runner, values, "a batch", {twice});
         ask(runner, values, "the same batch again", {twice}, {Situation::same_call_twice});
       }},
      {"an exception of any device comes out, of forward and of backward",
       [](CaseRunner& runner) {
         for (const Breaks breaks : {Breaks::forward, Breaks::backward}) {
           for (const std::int64_t broken : {0, 2}) {
             ask(runner, values, text("device ", broken, " breaks"),
                 {breaking(drawn_question(runner, 3, {6, 6}), breaks, broken)});
           }
         }
       }},
      {"parameters leave device 0 once for each other device, and gradients come back once",
       [](CaseRunner& runner) {
         ask(runner, copies, "what is copied", {drawn_question(runner, 4, {8, 8})});
         ask(runner, copies, "devices without samples",
             {drawn_question(runner, 1, {3}), drawn_question(runner, 4, {5}),
              drawn_question(runner, 8, {3})});
       },
       {},
       Asks::cost},
  };
}

}  // namespace lockstep::grader::data_parallel_threads
