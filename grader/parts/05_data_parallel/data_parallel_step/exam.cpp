// The exam of data_parallel_step: ten steps on different data must equal one device that is given
// all samples as one batch, with momentum and with Adam, with and without clipping. The judge
// trains that one device itself.
#include "grader/parts/05_data_parallel/data_parallel_step/case.hpp"

#include <algorithm>
#include <cmath>

#include "engine/base/random.hpp"
#include "grader/exam/traffic.hpp"
#include "grader/judge/bench.hpp"
#include "grader/judge/compare.hpp"
#include "grader/play/training.hpp"

namespace lockstep::grader::data_parallel_step {
namespace {

constexpr std::int64_t steps = 10;
constexpr std::int64_t width = 6, classes = 4;

struct Problem {
  int ranks = 2;
  std::int64_t batch = 3;
  OptimizerKind optimizer = OptimizerKind::momentum;
  double clip_norm = 0;
  DType dtype = DType::float64;
  std::uint64_t schedule_seed = 0;

  std::string description() const {
    return text(ranks, ranks == 1 ? " rank" : " ranks", ", ", batch, " samples each, ", steps,
                " steps, ", optimizer == OptimizerKind::adam ? "Adam" : "SGD with momentum",
                clip_norm > 0 ? text(", clipped to ", clip_norm) : "",
                dtype == DType::float32 ? ", float32" : "");
  }
};

// Players learn this one; what the other ranks' samples are drawn from stays with the judge.
std::uint64_t model_seed_of(std::uint64_t salt) { return random_bits(salt, 1'000'003) >> 32; }

StepCase case_of(const Problem& p, std::uint64_t salt, int rank) {
  StepCase c;
  c.dtype = p.dtype;
  c.optimizer = p.optimizer;
  c.clip_norm = p.clip_norm;
  c.model_seed = model_seed_of(salt);
  c.widths = {width, 8, classes};
  c.batch = p.batch;
  const auto samples = static_cast<std::size_t>(steps * p.batch);
  for (std::size_t i = 0; i < samples; ++i) {
    const auto label = static_cast<std::int64_t>(
        random_bits(salt + 17, i * 16 + static_cast<std::uint64_t>(rank)) % classes);
    c.labels.push_back(label);
    for (std::int64_t j = 0; j < width; ++j) {
      const double noise =
          random_uniform(salt + 29, (i * 16 + static_cast<std::uint64_t>(rank)) * width +
                                        static_cast<std::uint64_t>(j));
      // Ranks draw from shifted clouds, so their gradients really differ.
      c.inputs.push_back(2 * noise - 1 + 0.7 * static_cast<double>(rank) +
                         (j == label ? 1.5 : 0.0));
    }
  }
  return c;
}

// What one device ends with, in each of the ways this step usually goes wrong.
enum class Way : std::uint8_t {
  right,
  no_average,
  summed,
  divided_twice,
  clip_before,
  not_clipped,
  stale_by_one,
  no_zero,
  zero_last,
  unmoved,
  loss_after,  // right, but the losses are those after the update
};

struct Trained {
  std::vector<double> parameters;           // flat
  std::vector<std::vector<double>> losses;  // [rank][step]
};

// Trains all ranks' samples on one device. For Way::no_average the result is rank 0's alone.
Trained train(const Problem& p, std::uint64_t salt, Way way) {
  CpuDevice device;
  std::vector<StepCase> cases;
  for (int rank = 0; rank < p.ranks; ++rank) cases.push_back(case_of(p, salt, rank));
  const auto model = nn::make_mlp(cases[0].widths, p.dtype, device, model_seed_of(salt));
  const auto optimizer = make_optimizer(*model, p.optimizer);
  const auto parameters = model->parameters();
  Trained trained;
  trained.losses.resize(cases.size());

  for (std::int64_t step = 0; step < steps; ++step) {
    if (way == Way::stale_by_one && step > 0) optimizer->step();
    std::vector<Tensor> sums(parameters.size());
    if (step == 0) leave_gradients(*model);
    if (way == Way::no_zero || (way == Way::zero_last && step == 0)) {
      for (std::size_t i = 0; i < parameters.size(); ++i) sums[i] = parameters[i]->grad.clone();
    }
    std::vector<data::Batch> batches;
    for (std::size_t rank = 0; rank < cases.size(); ++rank) {
      optimizer->zero_grad();
      const auto batch = make_batch(cases[rank].inputs, cases[rank].labels, width, step * p.batch,
                                    p.batch, p.dtype, device);
      Tape tape(GradMode::record);
      const Value logits = model->forward(tape, tape.constant(batch.inputs));
      const Value loss = autograd::cross_entropy(tape, logits, batch.labels);
      trained.losses[rank].push_back(loss.tensor.item());
      batches.push_back(batch);
      tape.backward(loss);
      if (way == Way::no_average && rank > 0) continue;
      if (way == Way::clip_before) optim::clip_grad_norm(parameters, p.clip_norm);
      for (std::size_t i = 0; i < parameters.size(); ++i) {
        const Tensor scaled = parameters[i]->grad.clone();
        if (way != Way::summed && way != Way::no_average) scaled.scale_(1.0 / p.ranks);
        if (way == Way::divided_twice) scaled.scale_(1.0 / p.ranks);
        if (sums[i].defined()) {
          sums[i].reduce_(scaled, ReduceOp::sum);
        } else {
          sums[i] = scaled;
        }
      }
    }
    for (std::size_t i = 0; i < parameters.size(); ++i) parameters[i]->grad.copy_(sums[i]);
    const bool clips_mean = way != Way::clip_before && way != Way::not_clipped;
    if (p.clip_norm > 0 && clips_mean) optim::clip_grad_norm(parameters, p.clip_norm);
    if (way != Way::stale_by_one && way != Way::unmoved) optimizer->step();
    for (std::size_t rank = 0; way == Way::loss_after && rank < cases.size(); ++rank) {
      Tape tape(GradMode::inference);
      const Value logits = model->forward(tape, tape.constant(batches[rank].inputs));
      trained.losses[rank].back() =
          autograd::cross_entropy(tape, logits, batches[rank].labels).tensor.item();
    }
  }
  for (const Parameter* parameter : parameters) {
    for (double value : as_doubles(p.dtype, parameter->value.raw_bytes())) {
      trained.parameters.push_back(value);
    }
  }
  return trained;
}

// The other usual mistake: every rank steps with its own gradient, and the parameters are averaged
// afterwards. Equal to the right way for SGD, with momentum too, since all of it is linear in the
// gradient; not for Adam or with clipping.
std::vector<double> train_averaging_parameters(const Problem& p, std::uint64_t salt) {
  CpuDevice device;
  std::vector<std::unique_ptr<nn::Module>> models;
  std::vector<std::unique_ptr<optim::Optimizer>> optimizers;
  for (int rank = 0; rank < p.ranks; ++rank) {
    models.push_back(
        nn::make_mlp(case_of(p, salt, 0).widths, p.dtype, device, model_seed_of(salt)));
    optimizers.push_back(make_optimizer(*models.back(), p.optimizer));
  }
  for (std::int64_t step = 0; step < steps; ++step) {
    std::vector<Tensor> means(models.front()->parameters().size());
    for (int rank = 0; rank < p.ranks; ++rank) {
      const StepCase c = case_of(p, salt, rank);
      nn::Module& model = *models[static_cast<std::size_t>(rank)];
      optim::Optimizer& optimizer = *optimizers[static_cast<std::size_t>(rank)];
      optimizer.zero_grad();
      const auto batch =
          make_batch(c.inputs, c.labels, width, step * p.batch, p.batch, p.dtype, device);
      Tape tape(GradMode::record);
      const Value logits = model.forward(tape, tape.constant(batch.inputs));
      tape.backward(autograd::cross_entropy(tape, logits, batch.labels));
      const auto parameters = model.parameters();
      if (p.clip_norm > 0) optim::clip_grad_norm(parameters, p.clip_norm);
      optimizer.step();
      for (std::size_t i = 0; i < parameters.size(); ++i) {
        const Tensor share = parameters[i]->value.clone();
        share.scale_(1.0 / p.ranks);
        if (rank == 0) {
          means[i] = share;
        } else {
          means[i].reduce_(share, ReduceOp::sum);
        }
      }
    }
    for (const auto& model : models) {
      const auto parameters = model->parameters();
      for (std::size_t i = 0; i < parameters.size(); ++i) parameters[i]->value.copy_(means[i]);
    }
  }
  std::vector<double> flat;
  for (const Parameter* parameter : models.front()->parameters()) {
    for (double value : as_doubles(p.dtype, parameter->value.raw_bytes())) flat.push_back(value);
  }
  return flat;
}

std::vector<double> tolerance_of(const Problem& p, std::span<const double> expected) {
  // float64, ten steps: sums in another order move the result by some 1e-13; Adam divides by the
  // root of the second moment and so magnifies that for tiny gradients. 1e-6 leaves room for every
  // right order of summation and is far below what any mistake changes. In float32 the same sums
  // differ by some 1e-6 after ten steps.
  const double relative = p.dtype == DType::float64 ? 1e-6 : 1e-3;
  std::vector<double> tolerance;
  for (double value : expected) tolerance.push_back(relative * std::max(1.0, std::fabs(value)));
  return tolerance;
}

std::pair<std::string, std::string> likely_cause(const Problem& p, std::uint64_t salt,
                                                 std::span<const double> seen) {
  const auto is = [&](Way way) {
    const auto other = train(p, salt, way).parameters;
    return !first_difference(seen, other, tolerance_of(p, other));
  };
  if (!std::all_of(seen.begin(), seen.end(), [](double v) { return std::isfinite(v); })) {
    return {"no_number",
            "that is no number: divided by zero, or read from memory that nothing was written to"};
  }
  if (is(Way::unmoved)) {
    return {"unmoved", "nothing moved: the optimizer did not step, or found no gradient"};
  }
  if (p.ranks > 1 && is(Way::divided_twice)) {
    return {"divided_twice",
            text("the gradients were ", p.ranks, " times too small: averaged, and divided again")};
  }
  if (p.clip_norm > 0 && is(Way::not_clipped)) {
    return {"not_clipped", "the gradient was not clipped: clip_norm was ignored"};
  }
  if (is(Way::summed)) {
    return {"summed_not_averaged", "the gradients were summed over the ranks, not averaged"};
  }
  if (is(Way::no_average)) return {"not_averaged", "rank 0 trained on its own samples only"};
  if (p.clip_norm > 0 && is(Way::clip_before)) {
    return {"clipped_before_averaging",
            "the gradient was clipped before it was averaged: the norm that counts is the mean's"};
  }
  if (const auto other = train_averaging_parameters(p, salt);
      !first_difference(seen, other, tolerance_of(p, other))) {
    return {"averaged_parameters",
            "the parameters were averaged after each rank had stepped with its own gradient; that "
            "comes to the same for SGD, also with momentum, but not with Adam or clipping"};
  }
  if (is(Way::no_zero)) {
    return {"not_zeroed", "the last step's gradients were still there: zero them first"};
  }
  if (is(Way::zero_last)) {
    return {"zeroed_last",
            "the gradients that were there before the first step went into it: zero them first, "
            "not last"};
  }
  if (is(Way::stale_by_one)) {
    return {"step_before_gradient",
            "the optimizer stepped before this batch's gradient was averaged"};
  }
  return {"other_parameters",
          "the order of zero, forward, loss, backward, average, clip and step, or an average of "
          "something else than the gradients"};
}

std::string likely_cause_of_loss(const Problem& p, std::uint64_t salt, int rank,
                                 std::span<const double> seen) {
  const auto is = [&](const std::vector<double>& other) {
    return !first_difference(seen, other, tolerance_of(p, other));
  };
  const auto all = train(p, salt, Way::right).losses;
  std::vector<double> sums(steps), means;
  for (const auto& of_rank : all) {
    for (std::size_t k = 0; k < sums.size(); ++k) sums[k] += of_rank[k];
  }
  for (const double sum : sums) means.push_back(sum / p.ranks);
  if (p.ranks > 1 && is(means)) return "; likely cause: that is the mean over all ranks";
  if (p.ranks > 1 && is(sums)) return "; likely cause: that is the sum over all ranks";
  if (is(train(p, salt, Way::loss_after).losses[static_cast<std::size_t>(rank)])) {
    return "; likely cause: that is the loss after the update";
  }
  return {};
}

void compare(Bench& bench, const Played& played, const Problem& p, std::uint64_t salt) {
  const Trained expected = train(p, salt, Way::right);
  const auto tolerance = tolerance_of(p, expected.parameters);
  std::vector<double> rank_zero;
  for (int rank = 0; rank < p.ranks; ++rank) {
    ByteReader result(played.results[static_cast<std::size_t>(rank)]);
    const auto losses = result.get_list<double>();
    std::vector<double> seen;
    while (!result.done()) {
      for (double value : as_doubles(p.dtype, result.get_bytes())) seen.push_back(value);
    }
    Failure failure;
    failure.where = text("rank ", rank);
    if (rank == 0) rank_zero = seen;
    if (const auto at = first_other_bits(seen, rank_zero)) {
      failure.cause = "replicas_differ";
      const auto shown = [&](const std::vector<double>& of) {
        return *at < of.size() ? number(of[*at]) : std::string("nothing");
      };
      failure.expected = "the same bits on every rank";
      failure.seen = text(shown(rank_zero), " on rank 0, ", shown(seen), " on rank ", rank);
      failure.message =
          text("after ", steps, " steps the replicas of rank 0 and rank ", rank,
               " differ: ", shown(rank_zero), " and ", shown(seen), " at element ", *at,
               "; likely cause: the ranks stepped with different gradients, because these were not "
               "averaged, or only after the step");
      bench.fail(played, std::move(failure));
    }
    if (const auto at = first_difference(seen, expected.parameters, tolerance)) {
      const auto [cause, sentence] = likely_cause(p, salt, seen);
      failure.cause = cause;
      failure.expected =
          *at < expected.parameters.size() ? number(expected.parameters[*at]) : "nothing";
      failure.seen = *at < seen.size() ? number(seen[*at]) : "nothing";
      failure.where += text(", parameter element ", *at);
      failure.message = text("after ", steps, " steps parameter element ", *at, " is ",
                             failure.seen, " where one device with all ", p.ranks * p.batch,
                             " samples has ", failure.expected, "; likely cause: ", sentence);
      bench.fail(played, std::move(failure));
    }
    const auto& own = expected.losses[static_cast<std::size_t>(rank)];
    if (const auto at = first_difference(losses, own, tolerance_of(p, own))) {
      failure.cause = "wrong_loss";
      failure.expected = *at < own.size() ? number(own[*at]) : "nothing";
      failure.seen = *at < losses.size() ? number(losses[*at]) : "nothing";
      failure.where += text(", step ", *at);
      failure.message = text("the parameters are right, but step ", *at, " returned the loss ",
                             failure.seen, " where this rank's mean loss before the update is ",
                             failure.expected, likely_cause_of_loss(p, salt, rank, losses));
      bench.fail(played, std::move(failure));
    }
  }
}

std::optional<Played> play(Bench& bench, const Problem& p) {
  const std::uint64_t salt = bench.draw();
  CaseSetup setup;
  setup.description = p.description();
  setup.schedule_seed = p.schedule_seed;
  for (int rank = 0; rank < p.ranks; ++rank) setup.inputs.push_back(encode(case_of(p, salt, rank)));
  auto played = bench.play(setup);
  if (played) compare(bench, *played, p, salt);
  return played;
}

void check_traffic(Bench& bench, const Played& played, const Problem& p) {
  const std::int64_t elements = width * 8 + 8 + 8 * classes + classes;
  const double allowed = static_cast<double>(steps) * ring_bytes(elements * 8, p.ranks);
  const double sent = busiest_rank_bytes(played.counters);
  // A quarter for a loss or a count that travels along on this very small model.
  if (sent <= allowed * 1.25) return;
  bench.fail(
      played,
      wasteful("too_many_bytes", sent, allowed, text("per rank in ", steps, " steps"),
               text("the result is right, but a rank sends ", number(sent), " bytes in ", steps,
                    " steps where one reduction of the gradients a step costs ", number(allowed),
                    "; likely cause: gradients or parameters are sent more "
                    "than once a step")));
}

}  // namespace

Exam exam() {
  return {
      {"ten steps of SGD with momentum equal one device with the union of the batches",
       [](Bench& bench) {
         for (int n : {2, 3, 4, 1, 5}) {
           play(bench, {.ranks = n, .schedule_seed = bench.draw()});
         }
       }},
      {"Adam too: its moments see the averaged gradient",
       [](Bench& bench) {
         for (int n : {2, 7}) play(bench, {.ranks = n, .optimizer = OptimizerKind::adam});
       }},
      {"clipping by the norm of the averaged gradient",
       [](Bench& bench) {
         for (int n : {2, 4}) play(bench, {.ranks = n, .clip_norm = 0.1});
         play(bench, {.ranks = 3, .optimizer = OptimizerKind::adam, .clip_norm = 0.1});
         // A bound that nothing exceeds changes nothing.
         play(bench, {.ranks = 3, .clip_norm = 1e4});
       }},
      {"float32 too", [](Bench& bench) { play(bench, {.ranks = 3, .dtype = DType::float32}); }},
      {"eight ranks with one sample each",
       [](Bench& bench) { play(bench, {.ranks = 8, .batch = 1}); }},
      {"one reduction of the gradients a step",
       [](Bench& bench) {
         for (int n : {2, 8}) {
           const Problem p{.ranks = n};
           if (const auto played = play(bench, p)) check_traffic(bench, *played, p);
         }
       },
       {},
       Asks::cost},
  };
}

}  // namespace lockstep::grader::data_parallel_step
