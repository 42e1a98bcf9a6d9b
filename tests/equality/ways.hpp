// The ways to reduce gradients that the bar is held against, and what their runs are compared with.
#pragma once

#include "engine/train/make_strategy.hpp"
#include "tests/equality/bar.hpp"

namespace lockstep::test {

// The task's settings go into the options.
MakeWay engine_way(const train::StrategyOptions& options);

// Small buckets and groups, so that a model has several of them.
train::StrategyOptions ddp_options(ddp::Unused unused);
train::StrategyOptions horovod_options();
// In step, with so many servers; 0: one a rank.
train::StrategyOptions async_options(int servers);

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
