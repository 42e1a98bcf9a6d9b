// The exam of training_loop. The judge holds the samples and the log: it sees which rank reads what
// in which epoch, who logs, and when; and it trains the same model on one device. Each rank begins
// with numbers that no other rank knows.
#include "grader/parts/05_data_parallel/training_loop/case.hpp"

#include <algorithm>
#include <cmath>

#include "grader/exam/traffic.hpp"
#include "grader/judge/bench.hpp"
#include "grader/judge/compare.hpp"
#include "grader/parts/05_data_parallel/training_loop/oracle.hpp"
#include "grader/parts/05_data_parallel/training_loop/reads.hpp"

namespace lockstep::grader::training_loop {
namespace {

struct LogLine {
  int rank;  // in the world
  std::int64_t step;
  int epoch;
  double loss;
  double until_s;  // written
};

class LogService final : public sim::Service {
 public:
  explicit LogService(double line_s) : line_s_(line_s) {}
  const std::vector<LogLine>& lines() const { return lines_; }

  std::string_view name() const override { return log_service; }
  std::optional<Answer> serve(const sim::Actor& who, const sim::Request& request,
                              double now) override {
    ByteReader in(request.data.bytes);
    LogLine line{who.rank, in.get<std::int64_t>(), in.get<int>(), in.get<double>(), now + line_s_};
    lines_.push_back(line);
    return Answer{{}, line.until_s};
  }

 private:
  double line_s_;
  std::vector<LogLine> lines_;
};

std::vector<double> tolerance_of(const LoopProblem& p, std::span<const double> expected) {
  // As in the exam of data_parallel_step: rounding of some dozen steps, magnified by Adam, is far
  // below 1e-6 in float64 and 1e-3 in float32.
  const double relative = p.dtype == DType::float64 ? 1e-6 : 1e-3;
  std::vector<double> tolerance;
  for (double value : expected) tolerance.push_back(relative * std::max(1.0, std::fabs(value)));
  return tolerance;
}

bool equal(const LoopProblem& p, std::span<const double> seen, std::span<const double> expected) {
  return !first_difference(seen, expected, tolerance_of(p, expected));
}

std::string shown(std::span<const double> values, std::size_t at) {
  return at < values.size() ? number(values[at]) : "nothing";
}

// Why the replicas, equal to each other, are not what they should be.
Cause cause_of_numbers(const DrawnLoop& drawn, std::span<const double> seen) {
  if (!std::all_of(seen.begin(), seen.end(), [](double v) { return std::isfinite(v); })) {
    return {"no_number",
            "this value is not finite: the training diverged, or uninitialised memory was read"};
  }
  for (const auto& [way, cause, sentence] : loop_mistakes()) {
    if (equal(drawn.problem, seen, train_on_one_device(drawn, way).numbers)) {
      return {cause, sentence};
    }
  }
  if (equal(drawn.problem, seen, beginning_of(drawn))) {
    return {"unmoved", "no parameter moved: no step was taken"};
  }
  return {"other_numbers",
          "the rate is wrong, the parts of a step ran in another order, or steps were left out"};
}

class Comparison {
 public:
  Comparison(Bench& bench, const Played& played, const DrawnLoop& drawn,
             const std::vector<int>& members)
      : bench_(bench), played_(played), drawn_(drawn), members_(members) {
    for (int rank = 0; rank < drawn.problem.ranks; ++rank) {
      const int global = members[static_cast<std::size_t>(rank)];
      numbers_of_.push_back(played.results->of(global).get_list<double>());
    }
  }

  void replicas() const {
    const LoopProblem& p = drawn_.problem;
    const std::vector<double>& zero = numbers_of(0);
    const std::size_t buffer_begins = zero.size() - std::min<std::size_t>(zero.size(), 5);
    for (int rank = 1; rank < p.ranks; ++rank) {
      const std::vector<double>& mine = numbers_of(rank);
      const auto at = first_other_bits(mine, zero);
      if (!at) continue;
      Failure failure;
      failure.cause = *at < buffer_begins ? "replicas_differ" : "buffers_differ";
      failure.where = text("rank ", rank);
      failure.expected = "the same bits on every rank";
      failure.seen = text(shown(zero, *at), " on rank 0, ", shown(mine, *at), " on rank ", rank);
      failure.message = text(
          "after ", p.epochs, p.epochs == 1 ? " epoch" : " epochs",
          ", the replicas of rank 0 and rank ", rank, " differ: ", shown(zero, *at), " and ",
          shown(mine, *at), " at ",
          *at < buffer_begins ? text("parameter element ", *at)
                              : text("element ", *at - buffer_begins, " of the buffer"),
          "; likely cause: ",
          p.epochs == 0 ? "they started with different values, and nothing made them equal"
          : *at < buffer_begins
              ? "they started with different values, or stepped with different gradients or rates"
              : "the parameters were made equal at the start, but the buffers were not");
      bench_.fail(played_, std::move(failure));
    }
  }

  void numbers(const LoopTrained& right) const {
    const LoopProblem& p = drawn_.problem;
    const std::vector<double>& seen = numbers_of(0);
    const auto at = first_difference(seen, right.numbers, tolerance_of(p, right.numbers));
    if (!at) return;
    const auto [name, sentence] = cause_of_numbers(drawn_, seen);
    Failure failure;
    failure.cause = name;
    failure.expected = shown(right.numbers, *at);
    failure.seen = shown(seen, *at);
    failure.where = text("parameter element ", *at);
    failure.message = text(
        "every rank read the right samples, and the replicas are equal, but after ", p.epochs,
        p.epochs == 1 ? " epoch" : " epochs", ", parameter element ", *at, " is ", failure.seen,
        " where one device has ", failure.expected, "; likely cause: ", sentence);
    bench_.fail(played_, std::move(failure));
  }

  void log(const LoopTrained& right, const std::vector<LogLine>& lines) const {
    const LoopProblem& p = drawn_.problem;
    Failure failure;
    for (const LogLine& line : lines) {
      if (line.rank == members_[0]) continue;
      const auto rank = std::find(members_.begin(), members_.end(), line.rank) - members_.begin();
      failure.cause = "every_rank_logs";
      failure.where = text("rank ", rank);
      failure.message = text("rank ", rank, " logged step ", line.step,
                             "; only rank 0 may log, or every line appears ", p.ranks, " times");
      bench_.fail(played_, std::move(failure));
    }
    std::vector<double> losses;
    for (std::size_t k = 0; k < lines.size(); ++k) {
      const auto step = static_cast<std::int64_t>(k);
      losses.push_back(lines[k].loss);
      if (lines[k].step == step && lines[k].epoch == step / p.steps_in_epoch()) continue;
      failure.cause = "other_step";
      failure.expected = text("step ", step, " of epoch ", step / p.steps_in_epoch());
      failure.seen = text("step ", lines[k].step, " of epoch ", lines[k].epoch);
      failure.message =
          text("line ", k, " of the log says ", failure.seen, " where ", failure.expected,
               " was expected; both count from 0, and steps count over all epochs");
      bench_.fail(played_, std::move(failure));
    }
    if (losses.size() != right.losses.size()) {
      failure.cause = "other_number_of_lines";
      failure.expected = text(right.losses.size(), " lines");
      failure.seen = text(losses.size(), " lines");
      failure.message = text("the training is right, but rank 0 logged ", losses.size(), " of its ",
                             right.losses.size(), " steps");
      bench_.fail(played_, std::move(failure));
    }
    if (const auto at = first_difference(losses, right.losses, tolerance_of(p, right.losses))) {
      fail_loss(right, losses, *at);
    }
  }

  // No rank may return before rank 0 has written its last line.
  void end(const std::vector<LogLine>& lines) const {
    if (lines.empty()) return;
    const double written_s = lines.back().until_s;
    for (int rank = 1; rank < drawn_.problem.ranks; ++rank) {
      const auto global = static_cast<std::size_t>(members_[static_cast<std::size_t>(rank)]);
      const double gone_s = played_.counters.ranks[global].clock_s;
      if (gone_s >= written_s) continue;
      Failure failure;
      failure.cause = "left_early";
      failure.where = text("rank ", rank);
      failure.expected = text(number(written_s), " s or later");
      failure.seen = text(number(gone_s), " s");
      failure.message = text("rank ", rank, " returned at ", failure.seen,
                             " of virtual time, but rank 0 was still writing its last line, until ",
                             number(written_s), " s; likely cause: there is no barrier at the end");
      bench_.fail(played_, std::move(failure));
    }
  }

  // Replicas that start equal and take equal steps stay equal: nothing is broadcast after a step.
  void one_broadcast() const {
    std::int64_t largest = 0;  // of the reductions so far: a loss is small, gradients are not
    for (const auto& record : played_.counters.collectives) {
      if (record.kind == sim::Collective::all_reduce) largest = std::max(largest, record.bytes);
      if (record.kind != sim::Collective::broadcast || largest <= 64 || record.bytes <= 64)
        continue;
      Failure failure;
      failure.verdict = Verdict::efficiency;
      failure.cause = "broadcast_again";
      failure.expected = "one broadcast of the model, before the first step";
      failure.seen = text("a broadcast of ", record.bytes, " bytes after a step");
      failure.message = text("the training is right, but ", failure.seen,
                             " was seen; likely cause: the model is broadcast in every epoch or "
                             "every step. Replicas that start equal and take equal steps stay "
                             "equal; a broadcast would hide replicas that do not");
      bench_.fail(played_, std::move(failure));
    }
  }

  // A model of four parameters and a buffer; in each step its gradients and the loss; a barrier at
  // the end. One more of each does no harm.
  void meetings(std::int64_t steps) const {
    check_operations(
        bench_, played_,
        {.collectives = 6 + 6 * steps,
         .barriers = 2,
         .allowed = text("one broadcast for each tensor of the model, and in each of ", steps,
                         " steps one all-reduce for each gradient and one for the "
                         "loss,")});
  }

  void traffic() const {
    const LoopProblem& p = drawn_.problem;
    const std::int64_t bytes =
        static_cast<std::int64_t>(numbers_of(0).size()) * (p.dtype == DType::float32 ? 4 : 8);
    const auto steps = static_cast<double>(p.steps_in_epoch() * p.epochs);
    const double allowed = static_cast<double>(bytes) * 3 + steps * ring_bytes(bytes + 16, p.ranks);
    const double sent = busiest_rank_bytes(played_.counters);
    // A tenth for a part that logs more than a loss; the start has its own allowance.
    if (sent <= allowed * 1.1) return meetings(static_cast<std::int64_t>(steps));
    Failure failure;
    failure.verdict = Verdict::efficiency;
    failure.cause = "too_many_bytes";
    failure.counters = {{"bytes_sent", sent}, {"bytes_allowed", allowed}};
    failure.expected = text(number(allowed), " bytes per rank");
    failure.seen = text(number(sent), " bytes per rank");
    failure.message = text(
        "the training is right, but a rank sends ", number(sent),
        " bytes where one broadcast at the start and one reduction of the gradients in each of ",
        number(steps), " steps send ", number(allowed),
        " bytes; likely cause: the model or its gradients are sent more often");
    bench_.fail(played_, std::move(failure));
  }

 private:
  const std::vector<double>& numbers_of(int rank) const {
    return numbers_of_[static_cast<std::size_t>(rank)];
  }

  void fail_loss(const LoopTrained& right, const std::vector<double>& losses,
                 std::size_t at) const {
    const LoopProblem& p = drawn_.problem;
    const auto times = [&](double factor) {
      std::vector<double> scaled = right.losses;
      for (double& loss : scaled) loss *= factor;
      return scaled;
    };
    Cause cause{"other_losses", "this is not the loss of the global batch before the update"};
    if (equal(p, losses, right.losses_of[0])) {
      cause = {"own_loss", "this is the loss of rank 0's own samples; log the mean over all ranks"};
    } else if (equal(p, losses, times(p.ranks))) {
      cause = {"summed_loss", text("this is the sum over the ranks, ", p.ranks, " times the mean")};
    } else if (equal(p, losses, times(1.0 / p.ranks))) {
      cause = {"divided_twice", "the loss was divided by the number of ranks twice"};
    }
    Failure failure;
    failure.cause = cause.name;
    failure.expected = shown(right.losses, at);
    failure.seen = shown(losses, at);
    failure.where = text("step ", at);
    failure.message = text("the replicas are right, but rank 0 logged the loss ", failure.seen,
                           " for step ", at, " where the mean over all ranks' samples is ",
                           failure.expected, "; likely cause: ", cause.sentence);
    bench_.fail(played_, std::move(failure));
  }

  Bench& bench_;
  const Played& played_;
  const DrawnLoop& drawn_;
  const std::vector<int>& members_;
  std::vector<std::vector<double>> numbers_of_;  // by rank
};

void play(Bench& bench, const DrawnLoop& drawn) {
  const LoopProblem& p = drawn.problem;
  DatasetService dataset(drawn.samples());
  LogService log(p.log_s);
  std::vector<int> members = p.members;
  for (int rank = 0; p.members.empty() && rank < p.ranks; ++rank) members.push_back(rank);
  CaseSetup setup{.description = p.description(),
                  .inputs = {},
                  .schedule_seed = p.schedule_seed,
                  .network = {},
                  .services = {&dataset, &log}};
  for (int global = 0; global < p.world(); ++global) {
    const auto place = std::find(members.begin(), members.end(), global);
    const bool member = place != members.end();
    const int rank = static_cast<int>(place - members.begin());
    TrainingLoopCase c = drawn.case_of(member ? rank : 0);
    c.group.split = p.members.empty() ? 0 : 1;
    c.group.color = member ? 1 : comm::ProcessGroup::no_color;
    c.group.key = rank;
    setup.inputs.push_back(encode(c));
  }
  const auto played = bench.play(setup);
  if (!played) return;
  for (int rank = 0; rank < p.ranks; ++rank) {
    const auto reads = dataset.reads_of(members[static_cast<std::size_t>(rank)]);
    if (auto failure = reading_failure(drawn, rank, reads))
      bench.fail(*played, std::move(*failure));
  }
  const LoopTrained right = train_on_one_device(drawn, LoopWay::right);
  const Comparison comparison(bench, *played, drawn, members);
  comparison.replicas();
  comparison.numbers(right);
  comparison.log(right, log.lines());
  comparison.end(log.lines());
  comparison.one_broadcast();
  comparison.traffic();
}

// Steps so large that the loss of some epoch is larger than that of the epoch before, well before
// the last one.
void play_rising(Bench& bench) {
  LoopProblem p{.ranks = 2, .samples = 16, .epochs = 4, .rate = 2};
  const std::uint64_t salt = bench.draw();
  const auto rises = [&] {
    const auto losses =
        epoch_losses(p, train_on_one_device(DrawnLoop{p, salt}, LoopWay::right).losses);
    return losses[1] > losses[0] || losses[2] > losses[1];
  };
  while (p.rate < 100 && !rises()) p.rate *= 2;
  play(bench, DrawnLoop{p, salt});
}

void play(Bench& bench, const LoopProblem& p) { play(bench, DrawnLoop{p, bench.draw()}); }

}  // namespace

Exam exam() {
  return {
      {"every replica starts with rank 0's parameters and buffers",
       [](Bench& bench) {
         for (int n : {2, 1, 5}) play(bench, {.ranks = n, .epochs = 0});
       }},
      {"in one epoch every rank reads its share in order, and the replicas train as one device "
       "does",
       [](Bench& bench) {
         for (int n : {2, 1, 3, 4}) {
           play(bench, {.ranks = n, .epochs = 1, .schedule_seed = bench.draw()});
         }
       }},
      {"each of several epochs has its own order, and the rate schedule runs on across epochs",
       [](Bench& bench) {
         play(bench, {.ranks = 2, .epochs = 3});
         play(bench, {.ranks = 3, .epochs = 2, .optimizer = OptimizerKind::adam, .clip_norm = 0.3});
       }},
      {"if the dataset does not divide, all ranks still take the same number of steps",
       [](Bench& bench) {
         play(bench, {.ranks = 4, .samples = 25, .batch = 3});
         play(bench, {.ranks = 7, .samples = 29, .batch = 2});
         play(bench, {.ranks = 8, .samples = 17, .batch = 2});
         play(bench, {.ranks = 5, .samples = 3, .batch = 2});
       }},
      {"1 rank with 16 samples, 2 with 8 and 4 with 4 log the same losses",
       [](Bench& bench) {
         const std::uint64_t salt = bench.draw();
         for (int n : {1, 2, 4}) {
           play(bench, DrawnLoop{{.ranks = n, .samples = 64, .batch = 16 / n}, salt});
         }
       }},
      {"the loop runs options.epochs epochs, even if the loss rises", play_rising},
      {"no rank leaves while rank 0 still writes its log",
       [](Bench& bench) {
         for (int n : {2, 4}) play(bench, {.ranks = n, .epochs = 1, .log_s = 0.5});
       }},
      {"a subgroup trains like a world of its own",
       [](Bench& bench) {
         play(bench, {.ranks = 3, .members = {4, 0, 3}});
       }},
      {"float32 parameters train the same way",
       [](Bench& bench) { play(bench, {.ranks = 3, .dtype = DType::float32}); }},
  };
}

}  // namespace lockstep::grader::training_loop
