// The exam of evaluate_distributed: one device's numbers on every rank, each sample evaluated once
// by one rank, and one all-reduce of three numbers. The judge holds the samples, so it knows who
// read which; it scores every sample itself.
#include "grader/parts/05_data_parallel/evaluate_distributed/case.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "engine/base/units.hpp"
#include "grader/exam/ranks/checks.hpp"
#include "grader/judge/compare.hpp"
#include "grader/parts/05_data_parallel/evaluate_distributed/oracle.hpp"

namespace lockstep::grader::evaluate_distributed {
namespace {

using Problem = EvaluationProblem;
using Numbers = EvaluationNumbers;

// Why a rank reads more than its share, where all ranks together read so many samples.
Cause cause_of_reading(const Problem& p, std::int64_t read) {
  return {"reads_too_much", read == p.samples * p.evaluations * p.ranks()
                                ? text("every rank evaluates the whole dataset, so ", p.ranks(),
                                       " ranks are no faster than one")
                            : read > p.samples * p.evaluations
                                ? text("more than one rank evaluates the same samples, so ",
                                       p.ranks(), " ranks are hardly faster than one")
                                : text("one rank takes the whole remainder, or every sample, while "
                                       "the others wait; shares may differ by one sample at most")};
}

// The failure by what the judge saw itself: which rank read which samples.
std::optional<Failure> reading_failure(const Problem& p, const DatasetService& service) {
  const std::int64_t most = (p.samples + p.ranks() - 1) / p.ranks() * p.evaluations;
  const std::int64_t at_once = std::clamp<std::int64_t>(4096 / p.labels, 1, 256);
  std::vector<int> times(static_cast<std::size_t>(p.samples));
  std::int64_t read = 0;
  for (int rank = 0; rank < p.members.world; ++rank) {
    for (const auto& batch : service.reads_of(rank)) read += std::ssize(batch);
  }
  for (int rank = 0; rank < p.members.world; ++rank) {
    std::int64_t count = 0;
    for (const auto& batch : service.reads_of(rank)) {
      count += std::ssize(batch);
      for (const std::int64_t i : batch) ++times[static_cast<std::size_t>(i)];
      if (std::ssize(batch) <= at_once) continue;
      return Failure{.verdict = Verdict::memory,
                     .cause = "one_large_batch",
                     .message = text("rank ", rank, " read ", counted(std::ssize(batch), "sample"),
                                     " in one batch where samples_at_once allows ", at_once,
                                     "; the activations of a larger batch may not fit in memory")};
    }
    if (count <= most) continue;
    return because(cause_of_reading(p, read),
                   {.verdict = Verdict::efficiency,
                    .message = text("the numbers are right, but rank ", rank, " read ",
                                    counted(count, "sample"), " where its share is at most ", most),
                    .counters = {{"samples_read", static_cast<double>(count)},
                                 {"samples_allowed", static_cast<double>(most)}}});
  }
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (times[i] >= p.evaluations) continue;
    return Failure{.cause = "not_read",
                   .message = text("sample ", i, " was read ", counted(times[i], "time"), " in ",
                                   counted(p.evaluations, "evaluation"),
                                   "; every evaluation must read every sample")};
  }
  return std::nullopt;
}

std::optional<Failure> traffic_failure(const Problem& p, const sim::Counters& counters) {
  int reductions = 0, barriers = 0;
  std::int64_t bytes = 0;
  bool others = !counters.messages.empty();
  for (const auto& record : counters.collectives) {
    others = others || record.kind != sim::Collective::all_reduce;
    barriers += record.kind == sim::Collective::barrier ? 1 : 0;
    ++reductions;
    bytes = std::max(bytes, record.bytes);
  }
  const bool alone = p.ranks() == 1 && reductions <= p.evaluations;
  const bool met = !others && (reductions == p.evaluations || alone);
  const bool of_float64 = bytes == 24 || bytes == 16;  // two: a part knows the labels
  if (met && (of_float64 || (alone && bytes <= 24))) return std::nullopt;
  if (met && bytes < 24) {
    return Failure{
        .cause = "narrow_sums",
        .message = text("the numbers are right for these samples, but the all-reduce "
                        "has ",
                        bytes,
                        " bytes where three float64 take 24; float32 counts exactly only "
                        "to 16,777,216, and bfloat16 only to 256. Make the tensor with "
                        "from_values(sums, {3}, DType::float64, device)"),
        .expected = "an all-reduce of 24 bytes: three float64",
        .seen = text("an all-reduce of ", bytes, " bytes")};
  }
  const auto count = [](std::size_t number, const char* what) {
    return text(number, " ", what, number == 1 ? "" : "s");
  };
  return Failure{
      .verdict = Verdict::efficiency,
      .cause = "other_traffic",
      .message = text("the numbers are right, but ",
                      count(static_cast<std::size_t>(p.evaluations), "evaluation"), " took ",
                      count(counters.collectives.size(), "collective"), " of up to ", bytes,
                      " bytes and ", count(counters.messages.size(), "message"),
                      " where one all-reduce of three float64 per evaluation is enough",
                      barriers > 0
                          ? text(": ", barriers, barriers == 1 ? " is a barrier" : " are barriers")
                      : others ? ""
                               : ": put the three sums into one tensor"),
      .expected = text(p.evaluations, " all-reduce of 24 bytes"),
      .seen = others ? text("messages or other collectives")
                     : text(reductions, " all-reduce, of ", bytes, " bytes at most")};
}

// A player's report about itself may lower the verdict.
std::optional<Failure> side_effect(const Problem& p, const HiddenSamples& samples,
                                   std::uint64_t model_seed, const EvaluateResult& seen) {
  CpuDevice device;
  MoodyModel model(samples.shape, p.dtype, device, model_seed);
  if (seen.model_hash != nn::hash_of(model)) {
    return Failure{
        .cause = "model_changed",
        .message = "the numbers are right, but the evaluation changed the model's parameters"};
  }
  if (seen.recorded) {
    return Failure{.verdict = Verdict::efficiency,
                   .cause = "gradient_work",
                   .message =
                       "the numbers are right, but the forward passes were recorded for "
                       "backward, which keeps every activation: use Tape "
                       "tape(GradMode::inference)"};
  }
  if (!seen.left_training) return std::nullopt;
  return Failure{
      .cause = "left_training",
      .message = "the model was left prepared for training; leave it prepared for evaluation"};
}

// Which of the two numbers is wrong.
Cause cause_of(const Problem& p, const Numbers& seen, const Numbers& right) {
  if (auto odd = cause_by_finiteness({&seen.loss, 1}, {&right.loss, 1}, 0)) return *std::move(odd);
  if (!std::isfinite(seen.loss) || !std::isfinite(seen.accuracy)) {
    return {"no_number",
            "this value is not finite: a rank without samples divided by its number of labels, or "
            "uninitialised memory was read"};
  }
  if (near(p, {seen.loss, right.accuracy}, right)) {
    return {"other_accuracy",
            "the loss is right; the accuracy is the sum of all ranks' hits over the number of all "
            "ranks' labels"};
  }
  if (!near(p, {right.loss, seen.accuracy}, right)) {
    return {"other_mean", "the mean does not count every label exactly once"};
  }
  if (std::fabs(seen.loss - right.loss) <= 1e-6 * std::fabs(right.loss)) {
    return {"rounded_sums",
            "this is right to seven digits: the sums were added or sent as float32; use double and "
            "DType::float64"};
  }
  return {"other_loss",
          "the accuracy is right; the loss is the sum of all ranks' losses over the number of all "
          "ranks' labels"};
}

std::optional<Failure> wrong_numbers(const Problem& p, const HiddenSamples& samples,
                                     std::uint64_t seed, int rank, const EvaluateResult& result) {
  const Numbers seen{result.loss, result.accuracy};
  const Numbers right = right_numbers(p, samples, seed);
  if (near(p, seen, right)) return std::nullopt;
  const auto shown = [](const Numbers& numbers) {
    return text("loss ", number(numbers.loss), ", accuracy ", number(numbers.accuracy));
  };
  return because(
      cause_of(p, seen, right),
      {.message = text("rank ", rank, " has ", shown(seen), " where one device with all ",
                       p.samples, p.samples == 1 ? " sample" : " samples", " has ", shown(right)),
       .expected = shown(right),
       .seen = shown(seen)});
}

std::optional<Failure> other_bits(int rank, const EvaluateResult& mine, int last_rank,
                                  const EvaluateResult& last) {
  const auto bits = [](double value) { return std::bit_cast<std::uint64_t>(value); };
  if (bits(last.loss) == bits(mine.loss) && bits(last.accuracy) == bits(mine.accuracy)) {
    return std::nullopt;
  }
  return because({"ranks_differ", "each rank added in its own order"},
                 {.message = text("rank ", rank, " and rank ", last_rank,
                                  " have losses that differ in their last bits, ",
                                  number(mine.loss), " and ", number(last.loss))});
}

using Results = std::vector<EvaluateResult>;  // of one rank, by evaluation

void compare(CaseRunner& runner, const Played& played, const Problem& p, std::uint64_t salt,
             const std::vector<Results>& of_ranks, const DatasetService& dataset) {
  const HiddenSamples samples{p.shape(), salt, p.odd};
  const auto require = [&](std::optional<Failure> failure, const std::string& where = {}) {
    if (!failure) return;
    failure->where = where;
    runner.fail(played, std::move(*failure));
  };
  // From the last rank: what rank 0 says may be its own or what it told all.
  for (int rank = p.ranks() - 1; rank >= 0; --rank) {
    const Results& results = of_ranks[static_cast<std::size_t>(rank)];
    if (std::cmp_not_equal(results.size(), p.evaluations)) {
      throw MalformedMessage("not a result a model");
    }
    for (std::size_t k = 0; k < results.size(); ++k) {
      const std::uint64_t seed = model_seed(salt, k);
      const std::string where = text("rank ", rank);
      require(wrong_numbers(p, samples, seed, rank, results[k]), where);
      require(other_bits(rank, results[k], p.ranks() - 1, of_ranks.back()[k]), where);
      require(side_effect(p, samples, seed, results[k]), where);
    }
  }
  require(reading_failure(p, dataset));
  require(traffic_failure(p, played.counters));
}

void ask_of(const Problem& p, std::uint64_t salt, int, const EvaluateCase&, Situations& asked) {
  grader::ask_of(HiddenSamples{p.shape(), salt, p.odd}, asked);
  if (p.dtype == DType::float64) asked.insert(Situation::double_digits);
}

const RanksContract<Problem, EvaluateCase, Results, DatasetService> contract{
    .case_of =
        [](const Problem& p, std::uint64_t salt, int) {
          EvaluateCase one{.dtype = p.dtype, .dataset = p.shape()};
          for (int k = 0; k < p.evaluations; ++k) one.model_seeds.push_back(model_seed(salt, k));
          return one;
        },
    .compare = compare,
    .ask_of = ask_of,
    .smaller =
        smaller_by(fewer_ranks, down_to(&Problem::evaluations, 1), down_to(&Problem::samples, 1),
                   one_less(&Problem::samples), down_to(&Problem::labels, 1)),
    .services =
        [](CaseRunner&, const Problem& p, std::uint64_t salt) {
          return std::tuple(DatasetService({p.shape(), salt, p.odd}));
        }};

const RanksChecks checks(contract);

}  // namespace

Exam exam() {
  return {
      {"with equal shares every rank has one device's loss and accuracy",
       checks.every_size([](Problem& p) { p.samples = 2 * p.ranks(); })},
      {"with unequal shares every sample still counts once",
       in_turn(checks.on({2, 3, 5, 7, 8}, with(&Problem::samples, 13)),
               checks.on({4, 13}, with(&Problem::samples, 31)))},
      {"ranks without samples take part", in_turn(checks.on({4}, with(&Problem::samples, 3)),
                                                  checks.on({8}, with(&Problem::samples, 1)),
                                                  checks.on({5}, with(&Problem::samples, 6)))},
      {"with many labels per sample the mean is over labels, and batches stay small",
       checks.these({{.members = whole_world(3), .samples = 7, .labels = 6},
                     {.members = whole_world(2), .samples = 11, .labels = 1024}})},
      {"a dataset larger than one batch is evaluated whole",
       in_turn(checks.on({1}, with(&Problem::samples, 600)),
               checks.on({2}, with(&Problem::samples, 1031)))},
      {"each of several evaluations in a row uses its own model",
       checks.on({3}, with(&Problem::evaluations, 3))},
      {"when a peer is lost, a rank throws CommError and leaves no mean over the remaining ranks",
       checks.lose_peers(3)},
      {"a subgroup evaluates like a world of its own", checks.twice_in_a_subgroup()},
      {"a sample whose loss is not finite shows in the mean; samples of zeros count, too",
       checks.odd_values()},
      {"a float32 model is evaluated the same way",
       checks.types({DType::float32}, 3, with(&Problem::samples, 40))},
  };
}

}  // namespace lockstep::grader::evaluate_distributed
