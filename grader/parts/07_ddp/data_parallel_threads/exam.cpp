// The exam of data_parallel_threads: the master's gradients must be those of one device that is
// given the whole batch, in each step. Copies and passes are requests to the judge (ledger.hpp): it
// knows what was copied, which samples went through which device, and when. What the player says of
// gradients that are left over can lower the verdict, and no more (decision 0055).
#include <algorithm>
#include <cmath>

#include "grader/exam/function/odd_values.hpp"
#include "grader/exam/function/wrong_ending.hpp"
#include "grader/exam/ranks/gradient_rules.hpp"
#include "grader/exam/ranks/training_tolerance.hpp"
#include "grader/judge/compare.hpp"
#include "grader/parts/07_ddp/data_parallel_threads/case.hpp"
#include "grader/parts/07_ddp/data_parallel_threads/places.hpp"

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
  if (q.keeps != 0 && step > 0) {
    return {"other_gradients",
            "the master had gradients before this step; those of the step are added to them"};
  }
  return {"other_gradients",
          "each chunk counts once, with its own labels; each device has "
          "this step's parameters, copied in every step; and the mean is over "
          "all labels, so nothing is divided or weighted once more"};
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
  const StepOfOne right = step_of_one(q, k);
  const auto seen = as_doubles(q.dtype, step.gradients);
  const auto at = first_difference(seen, right.gradients, tolerance_of(q.dtype, right.gradients));
  if (at) {
    const bool digits = seen.size() == right.gradients.size() &&
                        std::ranges::equal(seen, right.gradients, [&](double a, double b) {
                          return is_rounded(q.dtype, a, b);
                        });
    return because(digits ? rounded() : cause_of(q, k, seen, right.gradients, *at),
                   {.message = text("in step ", k, ", element ", *at,
                                    " of the master's gradients is ", number_at(seen, *at, q.dtype),
                                    " where one device that gets the whole batch has ",
                                    number_at(right.gradients, *at, q.dtype)),
                    .expected = number_at(right.gradients, *at, q.dtype),
                    .seen = number_at(seen, *at, q.dtype)});
  }
  const std::vector<double> loss{step.loss}, wanted{right.loss};
  if (first_difference(loss, wanted, tolerance_of(q.dtype, wanted))) {
    return because(is_rounded(q.dtype, step.loss, right.loss)
                       ? rounded()
                       : Cause{"wrong_loss", "the loss is the mean over all labels of the batch"},
                   {.message = text("the gradients are right, but the loss of step ", k, " is ",
                                    number(step.loss, q.dtype), " where the mean is ",
                                    number(right.loss, q.dtype)),
                    .expected = number(right.loss, q.dtype),
                    .seen = number(step.loss, q.dtype)});
  }
  return std::nullopt;
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
  auto q = question_of(devices, std::move(batches), runner.draw(), dtype);
  q.secret = runner.draw();
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
