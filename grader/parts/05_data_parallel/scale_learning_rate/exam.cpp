// The exam of scale_learning_rate: rates, compared to rounding. Wrong ones are matched against the
// usual misunderstandings, to name the likely cause.
#include "grader/parts/05_data_parallel/scale_learning_rate/case.hpp"

#include <cmath>
#include <limits>

#include "engine/base/units.hpp"
#include "grader/exam/function/exam.hpp"
#include "grader/judge/compare.hpp"
#include "grader/judge/keyed.hpp"
#include "grader/judge/wrong_number.hpp"

namespace lockstep::grader::scale_learning_rate {
namespace {

using optim::ScaledRate;
using optim::Scaling;

double factor_of(Scaling scaling, double k) {
  return scaling == Scaling::linear ? k : std::sqrt(k);
}

double samples_of(const ScaledRate& q) {
  return static_cast<double>(q.batch) * static_cast<double>(q.accumulate) *
         static_cast<double>(q.ranks);
}

// The straight line through `from` at step 0 and `to` at step `warmup`, then level.
double warmed_up(double step, double from, double to, double warmup) {
  return step >= warmup ? to : from * (1 - step / warmup) + to * (step / warmup);
}

double rate_with(const RateQuestion& q, double k) {
  const double base = q.rate.base;
  return warmed_up(static_cast<double>(q.step), base, base * factor_of(q.rate.scaling, k),
                   static_cast<double>(q.rate.warmup));
}

double k_of(const RateQuestion& q) {
  return samples_of(q.rate) / static_cast<double>(q.rate.base_batch);
}

double expected_of(const RateQuestion& q) { return rate_with(q, k_of(q)); }

using Misreading = Mistake<double>;

std::vector<Misreading> wrong_factors(const RateQuestion& q) {
  const auto& [step, r] = q;
  const auto base_batch = static_cast<double>(r.base_batch);
  const double samples = samples_of(r), k = samples / base_batch;
  RateQuestion other = q;
  other.rate.scaling = r.scaling == Scaling::linear ? Scaling::square_root : Scaling::linear;
  return {
      {{"not_scaled", "this is the base rate, which was found for another batch size"}, r.base},
      {{"other_rule", "this is the rate under the other scaling rule"}, expected_of(other)},
      {{"ranks_only",
        "this is scaled by the number of ranks; scale by the growth of the global batch, which is "
        "1 "
        "when a fixed batch is split over more ranks"},
       rate_with(q, r.ranks)},
      {{"accumulation_forgotten",
        "this leaves out accumulation: the batches that a rank adds up belong to one update"},
       rate_with(q, k / static_cast<double>(r.accumulate))},
      {{"ranks_forgotten",
        "this leaves out the ranks: an update averages the gradients of all ranks"},
       rate_with(q, k / r.ranks)},
      {{"scaled_twice",
        "this is scaled twice; scale the base rate once, by all samples of an update together"},
       rate_with(q, k * k)},
      {{"scaled_twice",
        "this is scaled twice: the samples of an update already include every rank's"},
       rate_with(q, k * r.ranks)},
      {{"whole_numbers", "this comes from an integer division; k need not be a whole number"},
       rate_with(q, std::floor(k))},
      {{"root_of_the_rate",
        "this is the square root of the scaled rate; take the root of the factor k alone"},
       std::sqrt(r.base * k)},
      {{"upside_down", "the two batch sizes are swapped: a larger batch needs a higher rate"},
       rate_with(q, 1 / k)},
  };
}

std::vector<Misreading> lost_bits(const RateQuestion& q) {
  const auto& [step, r] = q;
  const auto samples = static_cast<std::int64_t>(static_cast<std::uint64_t>(r.batch) *
                                                 static_cast<std::uint64_t>(r.accumulate) *
                                                 static_cast<std::uint64_t>(r.ranks));
  const double base_batch = static_cast<double>(r.base_batch);
  std::vector<Misreading> lost;
  if (in_32_bits(samples) != samples) {
    lost.push_back({{"wrapped_32",
                     "the samples per update were computed in 32 bits, which hold at most "
                     "2,147,483,647; multiply in double"},
                    rate_with(q, static_cast<double>(in_32_bits(samples)) / base_batch)});
  }
  for (const double wrapped :
       {static_cast<double>(samples), static_cast<double>(static_cast<std::uint64_t>(samples))}) {
    if (near(wrapped, samples_of(r))) continue;
    lost.push_back({{"wrapped_64",
                     "the samples per update were computed in 64 bits, and the product has more; "
                     "multiply in double"},
                    rate_with(q, wrapped / base_batch)});
  }
  if (in_32_bits(step) == step && in_32_bits(r.warmup) == r.warmup) return lost;
  RateQuestion other = q;
  other.step = in_32_bits(step), other.rate.warmup = in_32_bits(r.warmup);
  const char* steps =
      "step or warmup was stored in 32 bits, which hold at most 2,147,483,647; both are int64";
  const double right = expected_of(q),
               scaled = rate_with({r.warmup, r}, samples_of(r) / base_batch);
  for (const double wrong :
       {expected_of(other), expected_of({other.step, r}), expected_of({step, other.rate}),
        r.base + (scaled - r.base) * static_cast<double>(step) / static_cast<double>(r.warmup),
        scaled, r.base}) {
    if (!near(wrong, right)) lost.push_back({{"wrapped_32", steps}, wrong});
  }
  return lost;
}

std::vector<Misreading> wrong_warmups(const RateQuestion& q) {
  const auto& [whole_step, r] = q;
  const double k = samples_of(r) / static_cast<double>(r.base_batch);
  const double to = r.base * factor_of(r.scaling, k);
  const auto step = static_cast<double>(whole_step), warmup = static_cast<double>(r.warmup);
  const auto accumulate = static_cast<double>(r.accumulate);
  std::vector<Misreading> wrong;
  if (step > 0 && step < warmup) {
    wrong = {
        {{"flat", k < 1 ? "this is still the base rate; when k is below 1, the line falls"
                        : "this is still the base rate, but the line rises from step 0 on; step / "
                          "warmup is 0 in integer division"},
         r.base},
        {{"root_of_the_line",
          "here the factor k follows a straight line, so its root does not; draw the line "
          "between the two rates"},
         r.base * factor_of(r.scaling, 1 + (k - 1) * step / warmup)}};
  }
  const Misreading others[] = {
      {{"from_zero", "this warm-up starts at 0; start at the base rate, which is known to work"},
       warmed_up(step, 0, to, warmup)},
      {{"from_zero",
        "this warm-up starts at a fraction of the scaled rate; start at the base rate"},
       warmed_up(step + 1, 0, to, warmup)},
      {{"one_early", "this is the next step's rate; step 0 has the base rate"},
       warmed_up(step + 1, r.base, to, warmup)},
      {{"one_early",
        "this warm-up is one step too short: step `warmup` is the first with the scaled rate"},
       warmed_up(step, r.base, to, warmup - 1)},
      {{"counts_batches", "this warm-up counts batches; warmup is a number of optimizer steps"},
       warmed_up(step, r.base, to, warmup * accumulate)},
      {{"counts_batches", "this counts batches; step already counts optimizer steps"},
       warmed_up(step * accumulate, r.base, to, warmup)},
      {{"counts_ranks",
        "this counts the steps of all ranks; the ranks step together, so count one step"},
       warmed_up(step * r.ranks, r.base, to, warmup)},
      {{"goes_on",
        "this line goes on beyond the warm-up; from step `warmup` on, the rate is constant"},
       r.base + (to - r.base) * step / warmup},
      {{"geometric",
        "this warm-up multiplies the rate by the same factor in each step; add the same amount "
        "instead"},
       r.base * std::pow(to / r.base, step / warmup)},
      {{"no_warmup", "this is the scaled rate from the start; the warm-up must lead up to it"}, to},
  };
  wrong.insert(wrong.end(), std::begin(others), std::end(others));
  return wrong;
}

std::string text_of(const RateQuestion& q) {
  const auto& r = q.rate;
  return text("step ", q.step, " with a warm-up of ", r.warmup, "; base rate ", number(r.base),
              " for ", counted(r.base_batch, "sample"), ", ",
              r.scaling == Scaling::linear ? "linear" : "square root", ", ", r.accumulate, " × ",
              counted(r.batch, "sample"), " on ", counted(r.ranks, "rank"));
}

Cause cause_of(const RateQuestion& q, double seen) {
  if (std::isnan(seen)) {
    return {"no_number",
            "0 / 0: the warm-up may have 0 steps, or the scaled rate may equal the base rate"};
  }
  std::vector<Misreading> all = lost_bits(q);
  const auto warmups = wrong_warmups(q), factors = wrong_factors(q);
  const bool warming = q.step < q.rate.warmup;
  for (const auto* more : {warming ? &warmups : &factors, warming ? &factors : &warmups}) {
    all.insert(all.end(), more->begin(), more->end());
  }
  for (const Misreading& misread : all) {
    if (near(seen, misread.gives)) return misread.cause;
  }
  const auto [least, most] = std::minmax(q.rate.base, rate_with({q.rate.warmup, q.rate}, k_of(q)));
  if (warming && seen >= least && seen <= most) {
    return {"other_way",
            "the rate lies between the base rate and the scaled one, but not on the straight line "
            "between them: add the same amount in each step"};
  }
  return {"other_rate",
          "the factor is not batch · accumulate · ranks / base_batch, or the warm-up is not a "
          "straight line from the base rate to the scaled rate"};
}

bool sensible(const RateQuestion& q) {
  const auto& r = q.rate;
  return q.step >= 0 && r.warmup >= 0 && r.base_batch >= 1 && r.batch >= 1 && r.ranks >= 1 &&
         r.accumulate >= 1;
}

std::optional<Failure> wrong(std::span<const RateQuestion> asked, const double& seen) {
  const RateQuestion& q = asked.back();
  const double expected = expected_of(q);
  if (near(seen, expected)) return std::nullopt;
  const auto earlier = earlier_answers(asked, expected_of);
  return because(known_or_likely(cause_of(q, seen), WrongNumber{seen, expected, earlier}),
                 {.message = text(text_of(q), ": the rate is ", number(seen), " where ",
                                  number(expected), " was expected"),
                  .expected = number(expected),
                  .seen = number(seen)});
}

constexpr ScaledRate good{0.1, 32, 32, 4, 2, Scaling::linear, 5};

const FunctionContract<RateQuestion, double> contract{
    .text_of = text_of,
    .wrong = wrong,
    .refusals = {{.valid = sensible,
                  .accepts = {"accepted",
                              "sizes, ranks and batches are 1 or more, and steps are not negative; "
                              "the checks above your region refuse the rest"},
                  .refuses = {"refused", "nothing is wrong with it"},
                  .nonsense = {{-1, good},
                               {1, {0.1, 0, 32, 4, 2, Scaling::linear, 5}},
                               {1, {0.1, 32, 0, 4, 2, Scaling::linear, 5}},
                               {1, {0.1, 32, 32, 0, 2, Scaling::linear, 5}},
                               {1, {0.1, 32, 32, 4, 0, Scaling::linear, 5}},
                               {1, {0.1, 32, 32, 4, 2, Scaling::linear, -1}}}}},
    .sizes = [](const RateQuestion& q) -> Sizes {
      return {q.rate.ranks, {q.rate.batch, q.rate.accumulate, q.rate.base_batch}};
    },
    .least_count = 1,
    .situations = [](const RateQuestion&) { return std::vector{Situation::double_digits}; }};

std::vector<RateQuestion> at_steps(const ScaledRate& rate, const std::vector<std::int64_t>& steps) {
  std::vector<RateQuestion> questions;
  for (const std::int64_t step : steps) questions.push_back({step, rate});
  return questions;
}

std::vector<RateQuestion> random_rates(CaseRunner& runner) {
  const auto drawn = [&](std::uint64_t below) {
    return static_cast<std::int64_t>(runner.draw() % below);
  };
  std::vector<RateQuestion> questions;
  for (int k = 0; k < 200; ++k) {
    ScaledRate rate;
    rate.base = 0.001 + keyed_uniform(runner.draw(), 0);
    rate.base_batch = 1 + drawn(5000);
    rate.batch = 1 + drawn(300);
    rate.ranks = static_cast<int>(1 + drawn(1000));
    rate.accumulate = 1 + drawn(20);
    rate.scaling = drawn(2) == 0 ? Scaling::linear : Scaling::square_root;
    rate.warmup = drawn(400);
    questions.push_back({drawn(800), rate});
  }
  return questions;
}

std::vector<RateQuestion> rates_of_every_size(CaseRunner& runner) {
  constexpr std::int64_t last = std::numeric_limits<std::int64_t>::max();
  std::vector<RateQuestion> questions{
      {last, {0.1, 32, 32, 4, 1, Scaling::linear, 10}},
      {5, {0.1, 32, 32, std::numeric_limits<int>::max(), 1, Scaling::square_root, 10}},
      {5, {-0.0, 32, 32, 4, 1, Scaling::linear, 10}}};
  for (const int ranks : every_rank_count) {
    for (const std::int64_t count : every_count(ranks, 1)) {
      const Scaling scaling = runner.draw() % 2 == 0 ? Scaling::linear : Scaling::square_root;
      const std::int64_t few = runner.draw_between(1, 20), more = runner.draw_between(1, 5000);
      questions.push_back({count, {0.1, more, count, ranks, few, scaling, more}});
      questions.push_back({few, {0.1, count, more, ranks, 1, scaling, 2 * few}});
    }
  }
  return questions;
}

}  // namespace

Exam exam() {
  // Five epochs of 1,281,167 images in updates of 8,192.
  const ScaledRate imagenet{0.1, 256, 32, 256, 1, Scaling::linear, 782};
  return {
      {"0.1 for 256 images becomes 3.2 for 8,192, reached from 0.1 along a straight line",
       [=](CaseRunner& runner) {
         ask(runner, contract, "256 ranks",
             at_steps(imagenet, {782, 783, 100'000, 0, 1, 391, 781}));
       }},
      {"only the samples per update count, not how they are split",
       [](CaseRunner& runner) {
         std::vector<RateQuestion> questions;
         for (const auto& [batch, accumulate, ranks] :
              {std::tuple{35, 1, 6}, {5, 7, 6}, {6, 35, 1}, {1, 30, 7}, {210, 1, 1}, {1, 1, 210}}) {
           const ScaledRate rate{0.05, 60, batch, ranks, accumulate, Scaling::linear, 11};
           for (const auto& q : at_steps(rate, {11, 20, 4, 7})) questions.push_back(q);
         }
         ask(runner, contract, "210 samples an update", questions);
       }},
      {"the square-root rule doubles the rate for four times the batch",
       [](CaseRunner& runner) {
         ask(runner, contract, "square root",
             at_steps({0.3, 48, 16, 4, 3, Scaling::square_root, 8}, {8, 9, 0, 1, 4, 7}));
       }},
      {"no warm-up, an unchanged batch and a smaller batch give the right rates",
       [](CaseRunner& runner) {
         ask(runner, contract, "no warm-up",
             at_steps({0.1, 32, 32, 4, 1, Scaling::linear, 0}, {0, 1, 50}));
         ask(runner, contract, "no growth",
             at_steps({0.1, 96, 8, 4, 3, Scaling::linear, 5}, {0, 2, 5, 6}));
         ask(runner, contract, "smaller",
             at_steps({0.4, 1000, 10, 3, 5, Scaling::linear, 4}, {0, 1, 3, 4}));
       }},
      {"any rate, batch and warm-up give the right rate, even beyond 32 bits",
       [](CaseRunner& runner) {
         ask(runner, contract, "random rates", random_rates(runner));
         constexpr std::int64_t billion = 1'000'000'000;
         std::vector<RateQuestion> large =
             at_steps({0.1, 7 * billion, 3'000'000, 7, 1000, Scaling::linear, 10}, {10, 0, 5});
         const ScaledRate fast{0.1, 32, 32, 4, 1, Scaling::linear, 10};
         for (const auto& q : at_steps(fast, {3 * billion})) large.push_back(q);
         // The product has 65 bits.
         const ScaledRate wide{0.1, 7 * billion, 3 * billion, 7, billion, Scaling::linear, 10};
         for (const auto& q : at_steps(wide, {10, 5})) large.push_back(q);
         ask(runner, contract, "billions of samples, and of steps", large);
         ask(runner, contract, "rates of every size", rates_of_every_size(runner));
       }},
      check_of_refusals(contract, "options that make no sense are refused", {{0, good}}),
  };
}

}  // namespace lockstep::grader::scale_learning_rate
