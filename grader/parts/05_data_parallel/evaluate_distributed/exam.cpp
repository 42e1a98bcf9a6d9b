// The exam of evaluate_distributed: one device's numbers on every rank, each sample evaluated once
// by one rank, and one all-reduce of three numbers. The judge holds the samples, so it knows who
// read which; it scores every sample itself, and makes of the scores what the usual mistakes make.
#include "grader/parts/05_data_parallel/evaluate_distributed/case.hpp"

#include <algorithm>
#include <bit>

#include "grader/exam/lost_peer_rules.hpp"
#include "grader/judge/bench.hpp"
#include "grader/judge/compare.hpp"
#include "grader/parts/05_data_parallel/evaluate_distributed/causes.hpp"

namespace lockstep::grader::evaluate_distributed {
namespace {

using Problem = EvaluationProblem;
using Numbers = EvaluationNumbers;

// What the judge saw itself: which rank read which samples.
std::optional<Failure> reading_failure(const Problem& p, const DatasetService& service) {
  Failure failure;
  const std::int64_t most = (p.samples + p.ranks - 1) / p.ranks;
  const std::int64_t at_once = std::clamp<std::int64_t>(4096 / p.labels, 1, 256);
  std::vector<int> times(static_cast<std::size_t>(p.samples));
  std::int64_t read = 0;
  for (int rank = 0; rank < p.world(); ++rank) {
    for (const auto& batch : service.reads_of(rank)) read += std::ssize(batch);
  }
  for (int rank = 0; rank < p.world(); ++rank) {
    std::int64_t count = 0;
    for (const auto& batch : service.reads_of(rank)) {
      count += std::ssize(batch);
      for (const std::int64_t i : batch) ++times[static_cast<std::size_t>(i)];
      if (std::ssize(batch) <= at_once) continue;
      failure.verdict = Verdict::memory;
      failure.cause = "one_large_batch";
      failure.message = text("rank ", rank, " read ", batch.size(),
                             " samples in one batch where samples_at_once "
                             "allows ",
                             at_once, "; the activations of a larger batch may not fit in memory");
      return failure;
    }
    if (count <= most * p.evaluations) continue;
    failure.verdict = Verdict::efficiency;
    failure.cause = "reads_too_much";
    failure.counters = {{"samples_read", static_cast<double>(count)},
                        {"samples_allowed", static_cast<double>(most * p.evaluations)}};
    failure.message =
        text("the numbers are right, but rank ", rank, " read ", count,
             " samples where its share is at most ", most * p.evaluations, "; likely cause: ",
             read == p.samples * p.evaluations * p.ranks
                 ? text("every rank evaluates the whole dataset, so ", p.ranks,
                        " ranks are no faster than one")
             : read > p.samples * p.evaluations
                 ? text("more than one rank evaluates the same samples, so ", p.ranks,
                        " ranks are hardly faster than one")
                 : text("one rank takes the whole remainder, or every sample, while "
                        "the others wait; shares may differ by one sample at most"));
    return failure;
  }
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (times[i] >= p.evaluations) continue;
    failure.cause = "not_read";
    failure.message = text("sample ", i, " was read ", times[i], " times in ", p.evaluations,
                           p.evaluations == 1 ? " evaluation" : " evaluations",
                           "; every evaluation must read every sample");
    return failure;
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
  const bool alone = p.ranks == 1 && reductions <= p.evaluations;
  const bool met = !others && (reductions == p.evaluations || alone);
  const bool of_float64 = bytes == 24 || bytes == 16;  // two: a part knows the labels
  if (met && (of_float64 || (alone && bytes <= 24))) return std::nullopt;
  Failure failure;
  if (met && bytes < 24) {
    failure.cause = "narrow_sums";
    failure.expected = "an all-reduce of 24 bytes: three float64";
    failure.seen = text("an all-reduce of ", bytes, " bytes");
    failure.message =
        text("the numbers are right for these samples, but the all-reduce has ", bytes,
             " bytes where three float64 take 24; float32 counts exactly only to 16,777,216, and "
             "bfloat16 only to 256. Make the tensor with from_values(sums, {3}, DType::float64, "
             "device)");
    return failure;
  }
  failure.verdict = Verdict::efficiency;
  failure.cause = "other_traffic";
  failure.expected = text(p.evaluations, " all-reduce of 24 bytes");
  failure.seen = others ? text("messages or other collectives")
                        : text(reductions, " all-reduce, of ", bytes, " bytes at most");
  const auto count = [](std::size_t number, const char* what) {
    return text(number, " ", what, number == 1 ? "" : "s");
  };
  failure.message = text(
      "the numbers are right, but ", count(static_cast<std::size_t>(p.evaluations), "evaluation"),
      " took ", count(counters.collectives.size(), "collective"), " of up to ", bytes,
      " bytes and ", count(counters.messages.size(), "message"),
      " where one all-reduce of three float64 per evaluation is enough",
      barriers > 0 ? text(": ", barriers, barriers == 1 ? " is a barrier" : " are barriers")
      : others     ? ""
                   : ": put the three sums into one tensor");
  return failure;
}

// What a player says of itself may lower the verdict.
std::optional<Failure> side_effect(const Problem& p, const HiddenSamples& samples,
                                   std::uint64_t model_seed, const EvaluateResult& seen) {
  CpuDevice device;
  MoodyModel model(samples.shape, p.dtype, device, model_seed);
  Failure failure;
  if (seen.model_hash != nn::hash_of(model)) {
    failure.cause = "model_changed";
    failure.message = "the numbers are right, but the evaluation changed the model's parameters";
    return failure;
  }
  if (seen.recorded != 0) {
    failure.verdict = Verdict::efficiency;
    failure.cause = "gradient_work";
    failure.message =
        "the numbers are right, but the forward passes were recorded for backward, which keeps "
        "every activation: use Tape tape(GradMode::inference)";
    return failure;
  }
  if (seen.left_training == 0) return std::nullopt;
  failure.cause = "left_training";
  failure.message = "the model was left prepared for training; leave it prepared for evaluation";
  return failure;
}

class Comparison {
 public:
  Comparison(Bench& bench, const Played& played, const Problem& p, const HiddenSamples& samples)
      : bench_(bench), played_(played), problem_(p), samples_(samples) {}

  void compare(const std::vector<int>& members, std::span<const std::uint64_t> seeds) {
    std::vector<EvaluateResult> last;
    // From the last rank: what rank 0 says may be its own or what it told all.
    for (int rank = problem_.ranks - 1; rank >= 0; --rank) {
      ByteReader& results = played_.results->of(members[static_cast<std::size_t>(rank)]);
      for (std::size_t k = 0; k < seeds.size(); ++k) {
        const EvaluateResult seen = read_evaluate_result(results);
        if (rank == problem_.ranks - 1) last.push_back(seen);
        numbers(rank, seeds[k], seen);
        same_bits(rank, last[k], seen);
        if (auto failure = side_effect(problem_, samples_, seeds[k], seen)) {
          failure->where = text("rank ", rank);
          bench_.fail(played_, std::move(*failure));
        }
      }
    }
  }

 private:
  void numbers(int rank, std::uint64_t seed, const EvaluateResult& result) const {
    const Problem& p = problem_;
    const Numbers seen{result.loss, result.accuracy};
    const Numbers right = right_numbers(p, samples_, seed);
    if (near(p, seen, right)) return;
    const auto [name, sentence] = likely_cause(p, samples_, seed, rank, seen);
    Failure failure;
    failure.cause = name;
    failure.expected = text("loss ", number(right.loss), ", accuracy ", number(right.accuracy));
    failure.seen = text("loss ", number(seen.loss), ", accuracy ", number(seen.accuracy));
    failure.where = text("rank ", rank);
    failure.message = text("rank ", rank, " has ", failure.seen, " where one device with all ",
                           p.samples, p.samples == 1 ? " sample" : " samples", " has ",
                           failure.expected, "; likely cause: ", sentence);
    bench_.fail(played_, std::move(failure));
  }

  void same_bits(int rank, const EvaluateResult& last, const EvaluateResult& mine) const {
    const auto bits = [](double value) { return std::bit_cast<std::uint64_t>(value); };
    if (bits(last.loss) == bits(mine.loss) && bits(last.accuracy) == bits(mine.accuracy)) return;
    Failure failure;
    failure.cause = "ranks_differ";
    failure.where = text("rank ", rank);
    failure.message =
        text("rank ", rank, " and rank ", problem_.ranks - 1,
             " have losses that differ in their last bits, ", number(mine.loss), " and ",
             number(last.loss), "; likely cause: each rank added in its own order");
    bench_.fail(played_, std::move(failure));
  }

  Bench& bench_;
  const Played& played_;
  const Problem& problem_;
  const HiddenSamples& samples_;
};

enum class Peers : std::uint8_t { stay, one_dies };

void play(Bench& bench, const Problem& p, Peers peers = Peers::stay) {
  const HiddenSamples samples{p.shape(), bench.draw()};
  DatasetService service(samples);
  EvaluateCase c{{}, p.dtype, samples.shape, {}, peers == Peers::one_dies};
  for (int k = 0; k < p.evaluations; ++k) c.model_seeds.push_back(bench.draw() >> 32);
  std::vector<int> members = p.members;
  if (members.empty()) {
    for (int rank = 0; rank < p.ranks; ++rank) members.push_back(rank);
  }
  CaseSetup setup{.description = p.description(),
                  .inputs = {},
                  .schedule_seed = p.schedule_seed,
                  .network = {},
                  .services = {&service}};
  for (int rank = 0; rank < p.world(); ++rank) {
    const auto place = std::find(members.begin(), members.end(), rank);
    EvaluateCase mine = c;
    mine.group.split = p.members.empty() ? 0 : 1;
    mine.group.color = place == members.end() ? comm::ProcessGroup::no_color : 1;
    mine.group.key = static_cast<int>(place - members.begin());
    setup.inputs.push_back(encode(mine));
  }
  if (peers == Peers::one_dies) return check_lost_peer(bench, setup, 1, 2);
  const auto played = bench.play(setup);
  if (!played) return;
  Comparison(bench, *played, p, samples).compare(members, c.model_seeds);
  if (auto failure = reading_failure(p, service)) bench.fail(*played, std::move(*failure));
  if (auto failure = traffic_failure(p, played->counters)) {
    bench.fail(*played, std::move(*failure));
  }
}

}  // namespace

Exam exam() {
  return {
      {"with equal shares every rank has one device's loss and accuracy",
       [](Bench& bench) {
         for (int n : {2, 1, 4}) play(bench, {.ranks = n, .samples = 12});
       }},
      {"with unequal shares every sample still counts once",
       [](Bench& bench) {
         for (int n : {2, 3, 5, 7, 8}) {
           play(bench, {.ranks = n, .samples = 13, .schedule_seed = bench.draw()});
         }
         play(bench, {.ranks = 4, .samples = 31});
         play(bench, {.ranks = 13, .samples = 31});
       }},
      {"ranks without samples take part",
       [](Bench& bench) {
         play(bench, {.ranks = 4, .samples = 3});
         play(bench, {.ranks = 8, .samples = 1});
         play(bench, {.ranks = 5, .samples = 6});
       }},
      {"with many labels per sample the mean is over labels, and batches stay small",
       [](Bench& bench) {
         play(bench, {.ranks = 3, .samples = 7, .labels = 6});
         play(bench, {.ranks = 2, .samples = 11, .labels = 1024});
       }},
      {"a dataset larger than one batch is evaluated whole",
       [](Bench& bench) {
         play(bench, {.ranks = 1, .samples = 600});
         play(bench, {.ranks = 2, .samples = 1031});
       }},
      {"each of several evaluations in a row uses its own model",
       [](Bench& bench) { play(bench, {.ranks = 3, .samples = 10, .evaluations = 3}); }},
      {"when a peer is lost, a rank throws CommError and leaves no mean over the remaining ranks",
       [](Bench& bench) { play(bench, {.ranks = 3, .samples = 10}, Peers::one_dies); }},
      {"a subgroup evaluates like a world of its own",
       [](Bench& bench) {
         play(bench, {.ranks = 3, .samples = 10, .members = {4, 0, 3}});
       }},
      {"a float32 model is evaluated the same way",
       [](Bench& bench) { play(bench, {.ranks = 3, .samples = 40, .dtype = DType::float32}); }},
  };
}

}  // namespace lockstep::grader::evaluate_distributed
