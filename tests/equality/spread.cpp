#include "tests/equality/spread.hpp"

#include <iostream>
#include <memory>

#include "engine/train/strategies/ddp.hpp"
#include "engine/train/strategies/pipeline.hpp"
#include "engine/train/strategies/plain.hpp"
#include "engine/train/strategies/zero.hpp"
#include "tests/catch.hpp"
#include "tests/equality/ways.hpp"

namespace lockstep::test {

using tensor_parallel::Sequence;

std::string text_of(const Spread& spread) {
  return text("tp ", spread.tp, ", dp ", spread.dp,
              spread.sequence == Sequence::sliced ? ", sliced" : "",
              spread.reduction == Spread::Reduction::plain ? ", plain" : "",
              spread.reduction == Spread::Reduction::stages
                  ? text(", pp ", spread.pp, ", schedule ", static_cast<int>(spread.schedule),
                         spread.state == train::StageState::sharded ? ", ZeRO 1" : "")
                  : "",
              spread.reduction == Spread::Reduction::shards
                  ? text(", sharding ", static_cast<int>(spread.sharding),
                         spread.cut == zero::Cut::rows ? " by rows" : "")
                  : "");
}

MakeWay way_of(const Spread& spread) {
  return [=](comm::ProcessGroup& group, Device& device, const train::Recipe& recipe,
             const BarTask& task) -> std::unique_ptr<train::Strategy> {
    const train::TrainingRanks ranks(group, {.tp = spread.tp, .dp = spread.dp, .pp = spread.pp});
    train::Recipe shared = recipe;
    if (ranks.layer() != nullptr) {
      shared.model.layers = make_wrong_layers(*ranks.layer(), spread.sequence, spread.fault);
    }
    if (spread.reduction == Spread::Reduction::stages) {
      const bool interleaved = spread.schedule == pipeline::Schedule::interleaved;
      return train::make_pipeline(ranks, device, shared, task.clip_norm,
                                  {.stages = spread.pp,
                                   .micro_batches = 2,
                                   .chunks = interleaved ? 2 : 1,
                                   .schedule = spread.schedule,
                                   .limits = {.first_bytes = 40'000, .cap_bytes = 300'000},
                                   .state = spread.state});
    }
    if (spread.reduction == Spread::Reduction::shards) {
      train::ZeroOptions options{{spread.sharding, 1, spread.cut}, train::AccumulateIn::shards};
      if (spread.sharding == zero::Sharding::zero_1) {
        options.accumulate = train::AccumulateIn::whole;
      }
      options.strands = task.strands;
      return train::make_zero(ranks, device, shared, task.clip_norm, options);
    }
    if (spread.reduction == Spread::Reduction::plain) {
      return train::make_plain(ranks, train::make_replica(shared, device), task.clip_norm);
    }
    train::DdpRun run{.accumulate = task.accumulate, .clip_norm = task.clip_norm};
    run.options.limits = {.first_bytes = 40'000, .cap_bytes = 300'000};
    if (spread.fault == LayerFault::mean_of_all_ranks) {
      run.hooked.hook = make_mean_of_all(ranks);
    }
    return train::make_ddp_or_plain(ranks, device, shared, std::move(run));
  };
}

Distance apart(World world, const Spread& spread, const BarTask& task, std::int64_t samples) {
  return distance(course_of(world, spread.ranks(), way_of(spread), task, samples),
                  alone(task, samples));
}

void check_run(World world, const Spread& spread, const BarTask& task, std::int64_t samples) {
  const Distance seen = apart(world, spread, task, samples);
  const std::string run =
      text(text_of(spread), ", ", name_of(world), ", ", name_of(task.optimizer.kind), ", ",
           task.steps, " steps", task.head == nn::OutputHead::tied ? ", tied" : ", untied",
           task.dropout > 0 ? ", dropout" : "",
           task.keep == nn::Keep::block_inputs ? ", recomputed" : "");
  std::cout << run << ": losses " << seen.loss << " apart, parameters " << seen.parameter
            << std::endl;
  INFO(run << ", worst: " << seen.worst);
  CHECK(seen.loss <= of_losses);
  CHECK(seen.parameter <= of_weights);
}

}  // namespace lockstep::test
