#include "engine/train/strategies/pipeline_options.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "engine/base/error.hpp"
#include "engine/base/units.hpp"
#include "engine/nn/module.hpp"
#include "engine/parallel/pipeline/plan.hpp"
#include "engine/parallel/pipeline/unit_profiles.hpp"

namespace lockstep::train {
namespace {

using pipeline::Action;
using pipeline::Plan;

// All forward passes, chunk after chunk; then, where it trains, all backward passes, the way back.
Plan all_forward(const PipelineOptions& options, int micro_batches, nn::Mode mode) {
  Plan plan{options.stages, options.chunks, micro_batches, {}};
  std::vector<Action> actions;
  for (int chunk = 0; chunk < options.chunks; ++chunk) {
    for (int j = 0; j < micro_batches; ++j) {
      actions.push_back({pipeline::Pass::forward, j, chunk});
    }
  }
  if (mode == nn::Mode::training) {
    const std::vector<Action> there = actions;
    for (auto it = there.rbegin(); it != there.rend(); ++it) {
      actions.push_back({pipeline::Pass::backward, it->micro_batch, it->chunk});
    }
  }
  plan.actions.assign(static_cast<std::size_t>(options.stages), actions);
  return plan;
}

}  // namespace

Plan plan_of_batch(const PipelineOptions& options, int micro_batches) {
  const bool in_turns =
      options.schedule == pipeline::Schedule::interleaved && micro_batches % options.stages != 0;
  return in_turns
             ? all_forward(options, micro_batches, nn::Mode::training)
             : pipeline::make_plan(options.schedule, options.stages, options.chunks, micro_batches);
}

Plan plan_of_evaluation(const PipelineOptions& options, int micro_batches) {
  return all_forward(options, micro_batches, nn::Mode::evaluation);
}

void check(const PipelineOptions& options, int ranks) {
  const int p = options.stages, m = options.micro_batches, v = options.chunks;
  LOCKSTEP_CHECK(p >= 1 && m >= 1 && v >= 1, "pipeline: ", p, " stages, ", v, " chunks a stage, ",
                 m, " micro-batches; each starts at 1");
  if (ranks % p != 0) {
    throw UsageError(text("a pipeline of ", p, " stages (--pp) does not fit on ", ranks,
                          ranks == 1 ? " rank" : " ranks", ": each stage is a rank, and further ",
                          "ranks are whole pipelines; pass --ranks ", (ranks + p - 1) / p * p));
  }
  if (options.schedule != pipeline::Schedule::interleaved) return;
  if (m % p != 0) {
    throw UsageError(text(
        "the interleaved schedule takes micro-batches in groups of as many as "
        "there are stages, but --pp ",
        p, " does not divide --micro-batches ", m, "; pass --micro-batches ", (m + p - 1) / p * p));
  }
  if (p == 1) {
    throw UsageError(
        "the interleaved schedule needs several stages: the chunks of a single one "
        "would follow each other as one; pass --pp 2 or more");
  }
}

void check(const PipelineOptions& options, const nn::ModelSpec& model) {
  pipeline::cut(pipeline::profile_units(model), options.stages * options.chunks);
}

std::string uneven_parts(const PipelineOptions& options, const nn::ModelSpec& model) {
  const int parts = options.stages * options.chunks;
  const std::int64_t layers =
      model.kind == nn::ModelKind::gpt ? model.gpt.layers : std::ssize(model.widths) - 1;
  if (layers % parts == 0) return "";
  const auto units = pipeline::profile_units(model);
  double most = 0, all = 0;
  for (const nn::UnitRange& part : pipeline::cut(units, parts)) {
    double flops = 0;
    for (std::int64_t i = part.first; i < part.first + part.count; ++i) {
      flops += units[static_cast<std::size_t>(i)].flops;
    }
    most = std::max(most, flops);
    all += flops;
  }
  return text(counted(layers, "layer"), layers == 1 ? " does" : " do", " not make ", parts,
              " equal parts: the most costly one takes ",
              std::llround(100 * (most * parts / all - 1)),
              " % more than the mean, and the other stages wait for it");
}

}  // namespace lockstep::train
