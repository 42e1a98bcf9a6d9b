// A stage's list of actions, carried out without its neighbours: what comes from them is made here,
// and what goes to them is dropped.
#include "engine/train/strategies/pipeline_memory.hpp"

#include <algorithm>

#include "engine/base/error.hpp"
#include "engine/base/units.hpp"
#include "engine/parallel/pipeline/model_stage.hpp"
#include "engine/parallel/pipeline/plan.hpp"
#include "engine/parallel/pipeline/timeline.hpp"
#include "engine/parallel/zero/sharded_units.hpp"
#include "engine/tensor/symbolic.hpp"

namespace lockstep::train {
namespace {

using pipeline::Action;
using pipeline::Pass;

std::vector<data::Batch> micro_batches_of(const nn::ModelSpec& spec, std::int64_t rows, int count,
                                          Device& device) {
  std::vector<data::Batch> all;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t size = rows / count + (i < rows % count ? 1 : 0);
    all.push_back(batch_of(spec, size, device));
  }
  return all;
}

void carry_out(pipeline::ModelStage& stage, const pipeline::StagePlace& place,
               const std::vector<Action>& actions) {
  Tensor loss;
  for (const Action& action : actions) {
    const pipeline::PassOf pass{action.chunk, action.micro_batch};
    const int part = action.chunk * place.stages + place.stage;
    if (action.pass == Pass::weight_gradient) {
      stage.weight_gradient(pass);
    } else if (action.pass == Pass::forward) {
      loss = stage.forward(pass, part == 0 ? Tensor() : stage.make_input(pass));
    } else {
      const bool ends = part == place.stages * place.chunks - 1;
      const Tensor given =
          ends ? full(loss.shape(), 1, loss.dtype(), loss.device(), MemoryKind::activations)
               : stage.make_gradient(pass);
      if (action.pass == Pass::backward) {
        stage.backward(pass, given);
      } else {
        stage.input_gradient(pass, given);
      }
    }
  }
}

std::string row_of(int number, const StageMemory& stage, const DeviceRoom& room) {
  const auto of = [&](MemoryKind kind) { return stage.bytes[static_cast<std::size_t>(kind)]; };
  const std::int64_t missing = stage.peak - room.bytes;
  return text("\n  stage ", number, " needs ", bytes_text(stage.peak), ": ", bytes_text(missing),
              missing == 1 ? " is" : " are", " missing; weights, gradients and state ",
              bytes_text(of(MemoryKind::parameters) + of(MemoryKind::gradients) +
                         of(MemoryKind::optimizer_state)),
              ", activations up to ", bytes_text(of(MemoryKind::activations)), " (",
              stage.in_flight, " in flight)");
}

}  // namespace

std::vector<StageMemory> memory_of_stages(const PipelineOptions& options, const Recipe& recipe,
                                          std::int64_t rows) {
  const int micro_batches = static_cast<int>(
      std::min<std::int64_t>(std::max<std::int64_t>(rows, 1), options.micro_batches));
  const pipeline::Plan plan = plan_of_batch(options, micro_batches);
  const pipeline::PlanTimeline priced = pipeline::price(plan);
  std::vector<StageMemory> all;
  for (int s = 0; s < options.stages; ++s) {
    SymbolicDevice device;
    const pipeline::StagePlace place{s, options.stages, options.chunks};
    pipeline::ModelStage stage(recipe.model, place, device, recipe.seed);
    const std::vector<Parameter*> parameters = stage.module().parameters();
    Unheard replicas(options.pipelines);
    std::optional<zero::ShardedUnits> sharded;
    if (options.state == StageState::sharded) {
      sharded.emplace(std::vector<std::vector<Parameter*>>{parameters}, recipe.model.dtype, device,
                      zero::ShardGroups{replicas});
    }
    const auto optimizer =
        optim::make_optimizer(recipe.optimizer, sharded ? sharded->shards() : parameters);
    const auto batches = micro_batches_of(recipe.model, rows, micro_batches, device);
    // The optimizer makes its state in the first step, so the second one has the peak.
    for (int step = 0; step < 2; ++step) {
      if (sharded) {
        sharded->zero_grad();
        sharded->begin(zero::Reduces::yes);
      } else {
        optimizer->zero_grad();
      }
      stage.begin(batches, {.mode = nn::Mode::training});
      carry_out(stage, place, plan.actions[static_cast<std::size_t>(s)]);
      if (sharded) sharded->end_backward();
      optimizer->step();
      if (sharded) sharded->end_update();
    }
    all.push_back({peaks_of(device), priced.stages[static_cast<std::size_t>(s)].in_flight_max});
  }
  return all;
}

void check_memory(const PipelineOptions& options, const Recipe& recipe,
                  std::span<const std::int64_t> batches, const DeviceRoom& room) {
  std::string rows_text;
  std::vector<StageMemory> all(static_cast<std::size_t>(options.stages));
  for (const std::int64_t rows : batches) {
    const std::vector<StageMemory> of_batch = memory_of_stages(options, recipe, rows);
    for (std::size_t s = 0; s < all.size(); ++s) {
      if (of_batch[s].peak > all[s].peak) all[s] = of_batch[s];
    }
  }
  for (std::size_t s = 0; s < all.size(); ++s) {
    if (all[s].peak > room.bytes) rows_text += row_of(static_cast<int>(s), all[s], room);
  }
  if (rows_text.empty()) return;
  throw UsageError(text("the pipeline does not fit: a rank's ", room.name, " has ",
                        bytes_text(room.bytes), rows_text, "\nin flight: the most micro-batches ",
                        "whose activations the stage holds at a time; --schedule 1f1b holds at ",
                        "most --pp, --recompute computes activations again, and a larger --pp ",
                        "gives a stage fewer layers",
                        recipe.model.kind == nn::ModelKind::gpt
                            ? "; a larger --tp gives a rank a smaller share of each"
                            : ""));
}

}  // namespace lockstep::train
