// The exam of training_loop. The judge holds the samples and the log: it sees which rank reads what
// in which epoch, who logs, and when; and it trains the same model on one device. Each rank begins
// with numbers that no other rank knows.
#include "grader/parts/05_data_parallel/training_loop/case.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/base/units.hpp"
#include "grader/exam/ranks/checks.hpp"
#include "grader/exam/ranks/happened_before.hpp"
#include "grader/exam/ranks/traffic.hpp"
#include "grader/exam/ranks/training_rules.hpp"
#include "grader/exam/ranks/wire_price.hpp"
#include "grader/judge/compare.hpp"
#include "grader/parts/05_data_parallel/training_loop/oracle.hpp"
#include "grader/parts/05_data_parallel/training_loop/reads.hpp"

namespace lockstep::grader::training_loop {
namespace {

struct LogLine {
  int rank;  // in the world
  train::LoggedStep logged;
  double until_s;  // written
};

class LogService final : public TypedService<LogCall> {
 public:
  explicit LogService(double line_s) : line_s_(line_s) {}
  const std::vector<LogLine>& lines() const { return lines_; }

 private:
  std::optional<Answer> answer(const sim::Actor& who, LogCall call, double now) override {
    lines_.push_back({who.rank, call.line, now + line_s_});
    return Answer{{}, now + line_s_};
  }

  double line_s_;
  std::vector<LogLine> lines_;
};

bool equal(const LoopProblem& p, std::span<const double> seen, std::span<const double> expected) {
  return !first_difference(seen, expected, training_tolerance(p.dtype, expected));
}

// Steps so large that the loss rises make a difference in the last digits larger, too.
std::vector<double> tolerance_of(const LoopProblem& p, std::span<const double> expected) {
  return p.rate > 0 ? training_tolerance(p.dtype, expected)
                    : digits_tolerance(p.dtype, p.optimizer, expected);
}

// Why the replicas, equal to each other, are not what they should be.
Cause cause_of_replicas(const DrawnLoop& drawn, std::span<const double> seen) {
  if (drawn.problem.epochs == 0) {
    return {"other_source", "the replicas started with other values; start with rank 0's"};
  }
  if (equal(drawn.problem, seen, beginning_of(drawn))) {
    return {"unmoved", "no parameter moved: no step was taken"};
  }
  return {
      "other_numbers",
      "before each step, its rate, and prepare() with its occasion, in which sample i of rank r is "
      "number r + i·N; then the parts of the step in their order; and every batch is a step"};
}

// Compares what the ranks ended with (numbers by group rank, and the log) with one device.
class Comparison {
 public:
  Comparison(CaseRunner& runner, const Played& played, const DrawnLoop& drawn,
             const std::vector<std::vector<double>>& numbers_of)
      : runner_(runner), played_(played), drawn_(drawn), numbers_of_(numbers_of) {}

  void replicas() const {
    const LoopProblem& p = drawn_.problem;
    const std::vector<double>& zero = numbers_of_.front();
    const std::size_t buffer_begins = zero.size() - std::min<std::size_t>(zero.size(), 5);
    for (int rank = 1; rank < p.ranks(); ++rank) {
      const std::vector<double>& mine = numbers_of_[static_cast<std::size_t>(rank)];
      const auto at = first_other_bits(mine, zero);
      if (!at) continue;
      const bool in_parameters = *at < buffer_begins;
      const std::string first = number_at(zero, *at), own = number_at(mine, *at);
      const Cause cause{
          in_parameters ? "replicas_differ" : "buffers_differ",
          p.epochs == 0 ? "they started with different values, and nothing made them equal"
          : in_parameters
              ? "they started with different values, or stepped with different gradients or rates"
              : "the parameters were made equal at the start, but the buffers were not"};
      fail(because(cause, {.message = text("after ", epochs(), ", the replicas of rank 0 and rank ",
                                           rank, " differ: ", first, " and ", own, " at ",
                                           in_parameters ? text("parameter element ", *at)
                                                         : text("element ", *at - buffer_begins,
                                                                " of the buffer")),
                           .expected = "the same bits on every rank",
                           .seen = text(first, " on rank 0, ", own, " on rank ", rank),
                           .where = text("rank ", rank)}));
    }
  }

  void numbers(const LoopTrained& right) const {
    const std::vector<double>& seen = numbers_of_.front();
    check_numbers(runner_, played_, seen,
                  {.dtype = drawn_.problem.dtype,
                   .values = right.numbers,
                   .tolerance = tolerance_of(drawn_.problem, right.numbers),
                   .name =
                       [&](std::size_t at) {
                         return text(
                             "every rank read the right samples, and the replicas are "
                             "equal, but after ",
                             epochs(), ", parameter element ", at);
                       },
                   .where = "the parameters",
                   .cause = [&](std::size_t) { return cause_of_replicas(drawn_, seen); }});
  }

  void log(const LoopTrained& right, const std::vector<LogLine>& lines) const {
    const LoopProblem& p = drawn_.problem;
    for (const LogLine& line : lines) {
      const int rank = p.members.group_rank(line.rank);
      if (rank == 0) continue;
      fail({.cause = "every_rank_logs",
            .message = text("rank ", rank, " logged step ", line.logged.step,
                            "; only rank 0 may log, or every line appears ", p.ranks(), " times"),
            .where = text("rank ", rank)});
    }
    std::vector<double> losses;
    for (std::size_t k = 0; k < lines.size(); ++k) {
      const auto step = static_cast<std::int64_t>(k);
      const train::LoggedStep& line = lines[k].logged;
      losses.push_back(line.loss);
      if (line.step == step && line.epoch == step / p.steps_in_epoch()) continue;
      const std::string expected = text("step ", step, " of epoch ", step / p.steps_in_epoch());
      const std::string seen = text("step ", line.step, " of epoch ", line.epoch);
      fail({.cause = "other_step",
            .message = text("line ", k, " of the log says ", seen, " where ", expected,
                            " was expected; both count from 0, and steps count over all epochs"),
            .expected = expected,
            .seen = seen});
    }
    if (losses.size() != right.losses.size()) {
      fail({.cause = "other_number_of_lines",
            .message = text("the training is right, but rank 0 logged ", losses.size(), " of its ",
                            counted(std::ssize(right.losses), "step")),
            .expected = counted(std::ssize(right.losses), "line"),
            .seen = counted(std::ssize(losses), "line")});
    }
    check_numbers(runner_, played_, losses,
                  {.dtype = p.dtype,
                   .values = right.losses,
                   .tolerance = tolerance_of(p, right.losses),
                   .name =
                       [](std::size_t at) {
                         return text(
                             "the replicas are right, but the loss that rank 0 logged for "
                             "step ",
                             at);
                       },
                   .whose = "the mean over all ranks' samples is",
                   .where = "the log",
                   .cause = [&](std::size_t) { return cause_of_loss(right, losses); }});
  }

  // No rank may return before rank 0 has written its last line.
  void end(const std::vector<LogLine>& lines) const {
    if (lines.empty()) return;
    const double written_s = lines.back().until_s;
    const Members& members = drawn_.problem.members;
    for (int rank = 1; rank < members.size(); ++rank) {
      const auto global = static_cast<std::size_t>(members.ranks[static_cast<std::size_t>(rank)]);
      const double gone_s = played_.counters.ranks[global].clock_s;
      if (gone_s >= written_s) continue;
      fail(because({"left_early", "there is no barrier at the end"},
                   {.message = text("rank ", rank, " returned at ", number(gone_s),
                                    " s of virtual time, but rank 0 was still writing its last "
                                    "line, until ",
                                    number(written_s), " s"),
                    .expected = text(number(written_s), " s or later"),
                    .seen = text(number(gone_s), " s"),
                    .where = text("rank ", rank)}));
    }
    if (drawn_.problem.log_s == 0) return;
    const auto heard = heard_s(played_.counters, members, 0, written_s);
    const auto unheard = std::ranges::find(heard, std::numeric_limits<double>::infinity());
    if (unheard == heard.end()) return;
    const auto rank = unheard - heard.begin();
    fail(because({"never_heard",
                  "there is no barrier at the end, and a rank that waits for some time knows "
                  "nothing of rank 0"},
                 {.message = text("rank ", rank,
                                  " returned late enough, and had not heard that "
                                  "rank 0 had written its last line"),
                  .expected = "a barrier that rank 0 enters after its last line",
                  .where = text("rank ", rank)}));
  }

  // Replicas that start equal and take equal steps stay equal: nothing is broadcast after a step.
  void one_broadcast() const {
    std::int64_t largest = 0;  // of the reductions so far: a loss is small, gradients are not
    for (const auto& record : played_.counters.collectives) {
      if (record.kind == sim::Collective::all_reduce) largest = std::max(largest, record.bytes);
      if (record.kind != sim::Collective::broadcast || largest <= 64 || record.bytes <= 64)
        continue;
      const std::string seen = text("a broadcast of ", record.bytes, " bytes after a step");
      fail(because({"broadcast_again",
                    "the model is broadcast in every epoch or every step. Replicas that start "
                    "equal and take equal steps stay equal; a broadcast would hide replicas that "
                    "do not"},
                   {.verdict = Verdict::efficiency,
                    .message = text("the training is right, but ", seen, " was seen"),
                    .expected = "one broadcast of the model, before the first step",
                    .seen = seen}));
    }
  }

  // A model of four parameters and a buffer; in each step its gradients and the loss; a barrier at
  // the end. One more of each does no harm.
  void meetings(std::int64_t steps) const {
    check_operations(
        runner_, played_,
        {.collectives = 6 + 6 * steps,
         .barriers = 2,
         .allowed = text("one broadcast for each tensor of the model, and in each of ", steps,
                         " steps one all-reduce for each gradient and one for the loss,")});
  }

  void traffic() const {
    const LoopProblem& p = drawn_.problem;
    const std::int64_t bytes =
        std::ssize(numbers_of_.front()) * (p.dtype == DType::float32 ? 4 : 8);
    const auto steps = static_cast<double>(p.steps_in_epoch() * p.epochs);
    const double allowed =
        static_cast<double>(bytes) * 3 + steps * ring_bytes(bytes + 16, p.ranks());
    const std::int64_t gradients = bytes - 5 * static_cast<std::int64_t>(bytes_of(p.dtype));
    check_wire_least(runner_, played_, steps * ring_bytes(gradients, p.ranks()),
                     text(steps, " reductions of the gradients"), samples_travel);
    const double sent = busiest_rank_bytes(played_.counters);
    // A tenth for a part that logs more than a loss; the start has its own allowance.
    if (sent <= allowed * 1.1) return meetings(static_cast<std::int64_t>(steps));
    fail(wasteful("too_many_bytes", sent, allowed, "per rank",
                  text("the training is right, but a rank sends ", number(sent),
                       " bytes where one broadcast at the start and one reduction of the gradients "
                       "in each of ",
                       number(steps), " steps send ", number(allowed),
                       " bytes; likely cause: the model or its gradients are sent more often")));
  }

 private:
  [[noreturn]] void fail(Failure failure) const { runner_.fail(played_, std::move(failure)); }

  std::string epochs() const { return counted(drawn_.problem.epochs, "epoch"); }

  Cause cause_of_loss(const LoopTrained& right, const std::vector<double>& losses) const {
    const LoopProblem& p = drawn_.problem;
    const auto is_times = [&](double factor) {
      std::vector<double> scaled = right.losses;
      for (double& loss : scaled) loss *= factor;
      return equal(p, losses, scaled);
    };
    if (equal(p, losses, right.losses_of[0])) {
      return {"own_loss", "this is the loss of rank 0's own samples; log the mean over all ranks"};
    }
    if (is_times(p.ranks())) {
      return {"summed_loss",
              text("this is the sum over the ranks, ", p.ranks(), " times the mean")};
    }
    if (is_times(1.0 / p.ranks())) {
      return {"divided_twice", "the loss was divided by the number of ranks twice"};
    }
    return {"other_losses", "this is not the loss of the global batch before the update"};
  }

  CaseRunner& runner_;
  const Played& played_;
  const DrawnLoop& drawn_;
  const std::vector<std::vector<double>>& numbers_of_;
};

void compare(CaseRunner& runner, const Played& played, const LoopProblem& p, std::uint64_t salt,
             const std::vector<std::vector<double>>& numbers_of, const DatasetService& dataset,
             const LogService& log) {
  const DrawnLoop drawn{p, salt};
  for (int rank = 0; rank < p.ranks(); ++rank) {
    const auto reads = dataset.reads_of(p.members.ranks[static_cast<std::size_t>(rank)]);
    if (auto failure = reading_failure(drawn, rank, reads)) {
      runner.fail(played, std::move(*failure));
    }
  }
  const LoopTrained right = train_on_one_device(drawn);
  const Comparison comparison(runner, played, drawn, numbers_of);
  comparison.replicas();
  comparison.numbers(right);
  comparison.log(right, log.lines());
  comparison.end(log.lines());
  comparison.one_broadcast();
  comparison.traffic();
}

const RanksContract<LoopProblem, TrainingLoopCase, std::vector<double>, DatasetService, LogService>
    contract{
        .case_of =
            [](const LoopProblem& p, std::uint64_t salt, int rank) {
              return DrawnLoop{p, salt}.case_of(rank);
            },
        .compare = compare,
        .ask_of =
            [](const LoopProblem& p, std::uint64_t salt, int, const TrainingLoopCase&,
               Situations& asked) {
              ask_of(DrawnLoop{p, salt}.samples(), asked);
              if (p.dtype == DType::float64) asked.insert(Situation::double_digits);
            },
        .smaller = smaller_by(fewer_ranks, down_to(&LoopProblem::epochs, 1),
                              down_to(&LoopProblem::samples, 1), one_less(&LoopProblem::samples)),
        .services =
            [](CaseRunner&, const LoopProblem& p, std::uint64_t salt) {
              return std::tuple(DatasetService(DrawnLoop{p, salt}.samples()), LogService(p.log_s));
            }};

const RanksChecks checks(contract);

using Problem = LoopProblem;

void share_of_the_samples(Problem& p) {
  p.samples = p.ranks() > 4 ? 2 * p.ranks() : 36;
  p.epochs = 1;
}

// Steps so large that the loss of some epoch is larger than that of the epoch before, well before
// the last one.
void play_rising(CaseRunner& runner) {
  Problem p{.members = whole_world(2), .samples = 16, .epochs = 4, .rate = 2};
  const std::uint64_t salt = runner.draw();
  const auto rises = [&] {
    const auto losses = epoch_losses(p, train_on_one_device(DrawnLoop{p, salt}).losses);
    return losses[1] > losses[0] || losses[2] > losses[1];
  };
  while (p.rate < 100 && !rises()) p.rate *= 2;
  play(runner, contract, p, salt);
}

void play_one_global_batch(CaseRunner& runner) {
  const std::uint64_t salt = runner.draw();
  for (const int n : {1, 2, 4}) {
    play(runner, contract, {.members = whole_world(n), .samples = 64, .batch = 16 / n}, salt);
  }
}

}  // namespace

Exam exam() {
  return {
      {"every replica starts with rank 0's parameters and buffers",
       checks.on({2, 1, 5}, with(&Problem::epochs, 0))},
      {"in one epoch every rank reads its share in order, and the replicas train as one device "
       "does",
       checks.every_size(share_of_the_samples)},
      {"each of several epochs has its own order, and the rate schedule runs on across epochs",
       checks.these({{.members = whole_world(2), .epochs = 3},
                     {.members = whole_world(3),
                      .epochs = 2,
                      .optimizer = OptimizerKind::adam,
                      .clip_norm = 0.3},
                     {.members = whole_world(2), .samples = 256, .batch = 64}})},
      {"if the dataset does not divide, all ranks still take the same number of steps",
       checks.these({{.members = whole_world(4), .samples = 25, .batch = 3},
                     {.members = whole_world(7), .samples = 29, .batch = 2},
                     {.members = whole_world(8), .samples = 17, .batch = 2},
                     {.members = whole_world(5), .samples = 3, .batch = 2}})},
      {"1 rank with 16 samples, 2 with 8 and 4 with 4 log the same losses", play_one_global_batch},
      {"the loop runs options.epochs epochs, even if the loss rises", play_rising},
      {"no rank leaves while rank 0 still writes its log", checks.on({2, 4},
                                                                     [](Problem& p) {
                                                                       p.epochs = 1;
                                                                       p.log_s = 0.5;
                                                                     })},
      {"a subgroup trains like a world of its own", checks.twice_in_a_subgroup()},
      {"NaN and infinity in a sample show in every replica and in the log; zeros are samples, too",
       checks.odd_values(3, with(&Problem::epochs, 1))},
      of_fault("when a peer is lost, a rank throws CommError, also at the end",
               checks.lose_peers(3, 23,
                                 [](Problem& p) {
                                   p.samples = 6;
                                   p.batch = 2;
                                   p.epochs = 1;
                                 })),  // among real processes no rank is killed
      {"float32 parameters train the same way", checks.types({DType::float32})},
  };
}

}  // namespace lockstep::grader::training_loop
