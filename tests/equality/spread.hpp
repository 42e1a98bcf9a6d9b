// How a run is spread over a mesh of ranks, by layers that ranks share, in stages, in replicas or
// their shards; and the way to train that this asks for.
#pragma once

#include <string>

#include "engine/parallel/pipeline/plan.hpp"
#include "engine/parallel/tensor/tensor_layers.hpp"
#include "engine/parallel/zero/sharded_units.hpp"
#include "engine/train/strategies/pipeline_options.hpp"
#include "tests/equality/bar.hpp"
#include "tests/equality/wrong_layers.hpp"

namespace lockstep::test {

struct Spread {
  int tp = 1, dp = 1;
  tensor_parallel::Sequence sequence = tensor_parallel::Sequence::whole;
  LayerFault fault = LayerFault::none;
  enum class Reduction : std::uint8_t { ddp, plain, stages, shards } reduction = Reduction::ddp;
  int pp = 1;  // with Reduction::stages, and so are these two
  pipeline::Schedule schedule = pipeline::Schedule::one_f_one_b;
  train::StageState state = train::StageState::whole;
  zero::Sharding sharding =
      zero::Sharding::full_shard;  // with Reduction::shards, and so is the cut
  zero::Cut cut = zero::Cut::flat;

  int ranks() const { return tp * dp * pp; }
};

std::string text_of(const Spread& spread);
MakeWay way_of(const Spread& spread);

// How far a run is from that of one rank.
Distance apart(World world, const Spread& spread, const BarTask& task, std::int64_t samples);
// Says it, and checks that it is rounding (of_losses, of_weights).
void check_run(World world, const Spread& spread, const BarTask& task, std::int64_t samples);

}  // namespace lockstep::test
