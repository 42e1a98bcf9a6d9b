// Checks what each stage must end with: its gradients and, on the stage with the last part, the
// loss. It also finds likely causes of a wrong one.
#include <algorithm>
#include <cmath>
#include <functional>

#include "grader/exam/function/odd_values.hpp"
#include "grader/judge/compare.hpp"
#include "grader/judge/wrong_number.hpp"
#include "grader/judge/wrong_terms.hpp"
#include "grader/parts/13_pipeline_parallel/run_stage/passes.hpp"

namespace lockstep::grader::run_stage {
namespace {

using pipeline::Action;

std::optional<std::size_t> first_other(std::span<const double> seen,
                                       std::span<const double> expected) {
  const std::vector<double> exact(expected.size(), 0);
  return first_difference(seen, expected, exact);
}

std::vector<int> parts_of(const Problem& p, int stage) {
  std::vector<int> parts;
  for (int chunk = 0; chunk < p.plan.chunks; ++chunk) {
    parts.push_back(chunk * p.plan.stages + stage);
  }
  return parts;
}

struct Expected {
  std::vector<Chain> chains;  // by micro-batch
  std::vector<double> weights;

  std::vector<std::vector<double>> gradients(const Problem& p, int stage,
                                             const std::vector<double>& seeds) const {
    std::vector<std::vector<double>> mine;
    for (const int part : parts_of(p, stage)) {
      auto& sum = mine.emplace_back(static_cast<std::size_t>(chain_width) * chain_width);
      for (std::size_t m = 0; m < chains.size(); ++m) {
        const auto one = result_of(chains[m], {1}, {seeds[m]});
        const auto& added = one.gradients[static_cast<std::size_t>(part)];
        std::ranges::transform(sum, added, sum.begin(), std::plus<>());
      }
    }
    return mine;
  }
  double loss(const std::vector<double>& shares) const {
    double sum = 0;
    for (std::size_t m = 0; m < chains.size(); ++m) {
      sum += result_of(chains[m], {shares[m]}, {0}).loss;
    }
    return sum;
  }
};

Cause rounded() {
  return {"rounded",
          "what a stage sends, a weight or a loss was rounded to float32; the stage chooses the "
          "dtype"};
}

std::vector<double> joined(const std::vector<std::vector<double>>& of_chunks) {
  std::vector<double> all;
  for (const auto& one : of_chunks) all.insert(all.end(), one.begin(), one.end());
  return all;
}

std::vector<Term> terms_of(const Problem& p, const Expected& expected, int stage) {
  std::vector<Term> all;
  for (std::size_t m = 0; m < expected.weights.size(); ++m) {
    std::vector<double> alone(expected.weights.size());
    alone[m] = 1;
    all.push_back({text("micro-batch ", m), expected.weights[m],
                   joined(expected.gradients(p, stage, alone))});
  }
  return all;
}

Cause cause_of_gradients(const Problem& p, const Expected& expected, int stage,
                         const std::vector<std::vector<double>>& seen) {
  const auto all = expected.gradients(p, stage, expected.weights);
  const bool close = std::ranges::equal(seen, all, [](const auto& one, const auto& right) {
    return std::ranges::equal(one, right, is_rounded);
  });
  if (close) return rounded();
  if (auto terms = cause_of_terms(joined(seen), joined(all), terms_of(p, expected, stage))) {
    return *std::move(terms);
  }
  return {"other_gradient",
          "a pass was given what belongs to another micro-batch or another part, or a weight other "
          "than its own"};
}

std::string text_of_passes(const Problem& p, const std::vector<Action>& passes, std::size_t at) {
  return at < passes.size() ? pipeline::text_of(passes[at], p.plan.chunks) : "nothing more";
}

void check_order(CaseRunner& runner, const Played& played, const Problem& p, int stage,
                 const std::vector<Action>& passes) {
  const auto& actions = p.plan.actions[static_cast<std::size_t>(stage)];
  if (passes == actions) return;
  const auto [seen, right] = std::ranges::mismatch(passes, actions);
  const auto at = static_cast<std::size_t>(seen - passes.begin());
  const std::string shown = text_of_passes(p, passes, at);
  const std::string wanted = text_of_passes(p, actions, at);
  runner.fail(played, because({"other_order",
                               "every pass of the plan runs, in its order, also that of a "
                               "micro-batch with the weight 0; other stages rely on it"},
                              {.message = text("as its pass number ", at + 1, ", stage ", stage,
                                               " runs ", shown, " where its plan has ", wanted),
                               .expected = wanted,
                               .seen = shown,
                               .where = text("stage ", stage)}));
}

void check_gradients(CaseRunner& runner, const Played& played, const Problem& p,
                     const Expected& expected, int stage,
                     const std::vector<std::vector<double>>& seen) {
  const auto right = expected.gradients(p, stage, expected.weights);
  if (seen.size() != right.size()) throw MalformedMessage("not the gradients of every chunk");
  for (std::size_t chunk = 0; chunk < right.size(); ++chunk) {
    const auto at = first_other(seen[chunk], right[chunk]);
    if (!at) continue;
    const std::string wanted = number_at(right[chunk], *at, p.dtype),
                      shown = number_at(seen[chunk], *at, p.dtype);
    const int part = parts_of(p, stage)[chunk];
    auto cause = cause_by_finiteness(seen[chunk], right[chunk], *at);
    if (!cause) cause = cause_of_gradients(p, expected, stage, seen);
    runner.fail(
        played,
        because(*cause,
                {.message = text("the gradient of part ", part, ", on stage ", stage, ", is ",
                                 shown, " at element ", *at, " where ", wanted, " is right"),
                 .expected = wanted,
                 .seen = shown,
                 .where = text("stage ", stage, ", part ", part, ", element ", *at)}));
  }
}

// `gradients`: those of the stage, if it trains; they tell more than one number does.
void check_loss(CaseRunner& runner, const Played& played, const Problem& p,
                const Expected& expected, int stage, const std::vector<double>& seen,
                const std::vector<std::vector<double>>& gradients) {
  const bool last = stage == p.plan.stages - 1;
  const auto where = text("stage ", stage);
  if (!last && seen.empty()) return;
  if (!last) {
    runner.fail(played,
                {.cause = "loss_elsewhere",
                 .message = text("stage ", stage, " returns a loss of ", number(seen[0], p.dtype),
                                 ", but the model's last part is on stage ", p.plan.stages - 1,
                                 "; elsewhere the loss is undefined"),
                 .expected = "undefined",
                 .seen = number(seen[0], p.dtype),
                 .where = where});
  }
  const double right = expected.loss(expected.weights);
  if (!first_other(seen, {&right, 1})) return;
  if (seen.size() != 1) {
    runner.fail(played,
                {.cause = "no_loss",
                 .message = text("stage ", stage, " has the model's last part, but returns ",
                                 seen.empty() ? "no loss" : "a loss of several elements"),
                 .expected = "one element",
                 .seen = seen.empty() ? "undefined" : text(seen.size(), " elements"),
                 .where = where});
  }
  auto cause = cause_by_finiteness(seen, {&right, 1}, 0);
  if (!cause && is_rounded(seen[0], right)) cause = rounded();
  if (!cause && !gradients.empty() && gradients != expected.gradients(p, stage, expected.weights)) {
    cause = cause_of_gradients(p, expected, stage, gradients);
  }
  if (!cause) {
    cause = with_relation(
        {"other_loss", "a loss is missing from the sum, or counts with another weight"}, seen[0],
        right);
  }
  runner.fail(
      played,
      because(*cause, {.message = text("the loss of the batch is ", number(seen[0], p.dtype),
                                       " where Σ weight · loss is ", number(right, p.dtype)),
                       .expected = number(right, p.dtype),
                       .seen = number(seen[0], p.dtype),
                       .where = where}));
}

}  // namespace

void compare(CaseRunner& runner, const Played& played, const Problem& p, std::uint64_t salt,
             const std::vector<StageReport>& reports, const PassService& passes) {
  const Expected expected{chains_of(p, salt), weights_of(p, salt)};
  const bool trains = p.plan.actions.front().back().pass != pipeline::Pass::forward;
  for (int stage = p.plan.stages - 1; stage >= 0; --stage) {
    const PassService::Ran& ran = passes.of(stage);
    check_order(runner, played, p, stage, ran.passes);
    check_loss(runner, played, p, expected, stage, reports[static_cast<std::size_t>(stage)].loss,
               trains ? ran.gradients : std::vector<std::vector<double>>());
    if (trains) check_gradients(runner, played, p, expected, stage, ran.gradients);
  }
}

void explain(Failure& found, const Problem& p, const PassService&) {
  const auto says = [&](std::string_view what) {
    return found.message.find(what) != std::string::npos;
  };
  if (found.verdict == Verdict::in_flight && says("isend (engine/parallel/pipeline/outbox.cpp")) {
    const std::string sentence = "call outbox.finish() before returning: it waits for the sends";
    found = also_because(sentence, std::move(found));
  }
  if (found.verdict == Verdict::mismatch) {
    found = also_because(
        "receive into a tensor that make_input() or make_gradient() made for this "
        "micro-batch: others may have another size, or still be in use",
        std::move(found));
  }
  const std::string loss = p.loss_axes == 0 ? " []" : " [1]";
  const bool of_loss = says(loss + " cannot take ") || says(loss + ";");
  if (found.cause == "shapes_differ" && p.plan.chunks > 1 && of_loss) {
    const std::string cause = found.cause;
    found = because_instead(
        {cause,
         "an output is taken for a loss, or a loss for an output: only the last chunk of the last "
         "stage is the last part of the model, not each chunk of that stage"},
        std::move(found));
  }
}

}  // namespace lockstep::grader::run_stage
