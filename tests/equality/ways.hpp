// The ways to train that the bar is held against, and what their runs are compared with.
#pragma once

#include "engine/collectives/bucket.hpp"
#include "engine/parallel/ddp/ddp.hpp"
#include "engine/train/strategies/pipeline_options.hpp"
#include "tests/equality/bar.hpp"

namespace lockstep::test {

// Of small buckets and groups, so that a model has several of them.
//   hook  reduces them in place of the engine's own sum
MakeWay ddp_way(ddp::Unused unused, collectives::CommHook* hook = nullptr);
MakeWay horovod_way(collectives::CommHook* hook = nullptr);
// In step, with so many servers; 0: one a rank.
MakeWay async_way(int servers);
MakeWay pipeline_way(const train::PipelineOptions& options);

// One rank, every sample of a step in one batch, and nothing computed again. All ways are compared
// with it: it runs once.
const Course& alone(BarTask task, std::int64_t global_batch);

// Sums of some thousand products in another order, relative to the largest of a tensor.
constexpr double of_gradients = 1e-12;
constexpr double of_losses = 1e-12;
// Twenty to fifty updates that each round anew.
constexpr double of_weights = 1e-9;

// Twenty steps, with a clip below the norm of every step.
BarTask adamw_task();
// Fifty steps without a clip, and with a rule that a wrong scale does not leave alone: AdamW
// divides it away.
BarTask sgd_task();

}  // namespace lockstep::test
