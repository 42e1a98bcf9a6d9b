// Context parallelism against one rank, as the other ways to train (equality_test.cpp): in a ring,
// in zigzag and by heads, alone and with every other axis, and the mistakes that shared sequences
// invite. Samples of 17 tokens are cut into slices that differ.
#include <algorithm>
#include <iostream>
#include <limits>
#include <memory>
#include <string_view>
#include <vector>

#include "engine/parallel/tensor/tensor_layers.hpp"
#include "engine/train/strategies/ddp.hpp"
#include "engine/train/strategies/pipeline.hpp"
#include "engine/train/strategies/zero.hpp"
#include "tests/catch.hpp"
#include "tests/equality/ways.hpp"
#include "tests/equality/wrong_context.hpp"

using namespace lockstep;
using sequence_parallel::ContextKind;
using tensor_parallel::Sequence;
using test::BarTask;
using test::ContextFault;
using test::Distance;
using test::MakeWay;
using test::World;

namespace {

struct Setting {
  ContextKind kind = ContextKind::ring;
  int cp = 1, tp = 1, dp = 1, pp = 1;
  Sequence between = Sequence::whole;
  enum class State : std::uint8_t { replicas, zero_1, full_shard } state = State::replicas;
  ContextFault fault = ContextFault::none;

  int ranks() const { return cp * tp * dp * pp; }
};

std::string text_of(const Setting& setting) {
  constexpr std::string_view kinds[]{"ring", "zigzag", "ulysses"};
  constexpr std::string_view states[]{"", ", ZeRO 1", ", full_shard"};
  return text(kinds[static_cast<std::size_t>(setting.kind)], ": cp ", setting.cp, ", tp ",
              setting.tp, ", dp ", setting.dp, ", pp ", setting.pp,
              setting.between == Sequence::sliced ? ", sliced" : "",
              states[static_cast<std::size_t>(setting.state)]);
}

std::shared_ptr<nn::LayerMaker> layers_of(const Setting& setting, std::int64_t length,
                                          const train::TrainingRanks& ranks) {
  std::shared_ptr<nn::LayerMaker> layers = std::make_shared<nn::LayerMaker>();
  if (ranks.layer() != nullptr) {
    layers = std::make_shared<tensor_parallel::TensorLayers>(*ranks.layer(), setting.between);
  }
  if (ranks.sequence() == nullptr) return layers;
  return test::make_wrong_context(*ranks.sequence(), setting.kind, length, layers, setting.fault);
}

MakeWay way_of(const Setting& setting) {
  return [=](comm::ProcessGroup& group, Device& device, const train::Recipe& recipe,
             const BarTask& task) -> std::unique_ptr<train::Strategy> {
    const train::TrainingRanks ranks(
        group, {.tp = setting.tp, .cp = setting.cp, .dp = setting.dp, .pp = setting.pp});
    train::Recipe shared = recipe;
    shared.model.layers = layers_of(setting, recipe.model.gpt.sequence, ranks);
    if (setting.pp > 1) {
      const bool sharded = setting.state == Setting::State::zero_1;
      return train::make_pipeline(
          ranks, device, shared, task.clip_norm,
          {.stages = setting.pp,
           .micro_batches = 2,
           .schedule = pipeline::Schedule::one_f_one_b,
           .limits = {.first_bytes = 40'000, .cap_bytes = 300'000},
           .state = sharded ? train::StageState::sharded : train::StageState::whole});
    }
    if (setting.state != Setting::State::replicas) {
      const bool full = setting.state == Setting::State::full_shard;
      train::ZeroOptions options{
          {full ? zero::Sharding::full_shard : zero::Sharding::zero_1, 1, zero::Cut::flat},
          full ? train::AccumulateIn::shards : train::AccumulateIn::whole};
      options.strands = task.strands;
      return train::make_zero(ranks, device, shared, task.clip_norm, options);
    }
    train::DdpRun run{.accumulate = task.accumulate, .clip_norm = task.clip_norm};
    run.options.limits = {.first_bytes = 40'000, .cap_bytes = 300'000};
    return train::make_ddp_or_plain(ranks, device, shared, std::move(run));
  };
}

// The global batch is one that all numbers of shares divide.
constexpr std::int64_t batch = 8;

Distance apart(World world, const Setting& setting, const BarTask& task) {
  return distance(test::course_of(world, setting.ranks(), way_of(setting), task, batch),
                  test::alone(task, batch));
}

struct Most {
  int count = 0;
  Distance distance;

  void check(const Setting& setting, const BarTask& task) {
    const Distance seen = apart(World::sim, setting, task);
    INFO(text_of(setting) << ", " << task.sequence << " tokens, dropout " << task.dropout << ", "
                          << task.accumulate << " batches, worst: " << seen.worst);
    CHECK(seen.loss <= test::of_losses);
    CHECK(seen.parameter <= test::of_gradients);
    distance.loss = std::max(distance.loss, seen.loss);
    distance.parameter = std::max(distance.parameter, seen.parameter);
    ++count;
  }
  ~Most() {
    std::cout << count << " settings: losses at most " << distance.loss << " apart, gradients "
              << distance.parameter << std::endl;
  }
};

BarTask first_step(std::int64_t length, std::int64_t accumulate, double dropout) {
  BarTask task = test::first_gradients(accumulate, dropout);
  task.sequence = length;
  task.width = 16;
  return task;
}

void check_run(World world, const Setting& setting, const BarTask& task) {
  const Distance seen = apart(world, setting, task);
  std::cout << text_of(setting) << ", " << name_of(world) << ", " << name_of(task.optimizer.kind)
            << ", " << task.steps << " steps: losses " << seen.loss << " apart, parameters "
            << seen.parameter << std::endl;
  INFO(text_of(setting) << ", " << name_of(world) << ", worst: " << seen.worst);
  CHECK(seen.loss <= test::of_losses);
  CHECK(seen.parameter <= test::of_weights);
}

BarTask clipped_task(std::int64_t length) {
  BarTask task = test::adamw_task();
  task.steps = 6;
  task.width = 16;
  task.sequence = length;
  task.dropout = 0.1;
  return task;
}

BarTask sgd_task(std::int64_t length) {
  BarTask task = test::sgd_task();
  task.steps = 8;
  task.width = 16;
  task.sequence = length;
  return task;
}

}  // namespace

TEST_CASE("equality: sequences on several ranks, the gradients of the first step are one rank's") {
  Most most;
  for (const std::int64_t length : {16, 17}) {
    for (const auto kind : {ContextKind::ring, ContextKind::zigzag, ContextKind::ulysses}) {
      for (const int cp : {2, 3, 4}) {
        if (kind == ContextKind::ulysses && cp == 3) continue;
        most.check({kind, cp}, first_step(length, 1, 0));
        BarTask again = first_step(length, 2, 0.1);
        again.keep = nn::Keep::block_inputs;
        again.head = nn::OutputHead::untied;
        most.check({kind, cp}, again);
      }
    }
  }
}

TEST_CASE("equality: sequences and every other axis, the gradients of the first step are one's") {
  using State = Setting::State;
  Most most;
  for (const std::int64_t length : {16, 17}) {
    for (const auto kind : {ContextKind::ring, ContextKind::zigzag, ContextKind::ulysses}) {
      const BarTask task = first_step(length, 1, length == 16 ? 0.1 : 0);
      most.check({.kind = kind, .cp = 2, .tp = 2}, task);
      most.check({.kind = kind, .cp = 2, .pp = 2}, task);
      most.check({.kind = kind, .cp = 2, .dp = 2}, task);
      most.check({.kind = kind, .cp = 2, .dp = 2, .state = State::full_shard}, task);
      most.check({.kind = kind, .cp = 2, .dp = 2, .state = State::zero_1}, task);
      most.check({.kind = kind, .cp = 2, .pp = 2, .state = State::zero_1}, task);
      if (length != 16) continue;  // --sp wants equal slices
      most.check({.kind = kind, .cp = 2, .tp = 2, .between = Sequence::sliced}, task);
      most.check({.kind = kind, .cp = 2, .tp = 2, .dp = 2, .state = State::full_shard}, task);
    }
  }
}

TEST_CASE("equality: sequences on several ranks, clipped runs of AdamW and runs of SGD") {
  using State = Setting::State;
  check_run(World::sim, {ContextKind::ring, 3}, clipped_task(17));
  check_run(World::sim, {ContextKind::ring, 4}, sgd_task(16));
  check_run(World::sim, {ContextKind::zigzag, 2}, clipped_task(16));
  check_run(World::sim, {ContextKind::zigzag, 4}, sgd_task(17));
  check_run(World::sim, {ContextKind::ulysses, 4}, clipped_task(17));
  check_run(World::sim, {ContextKind::ulysses, 2}, sgd_task(16));
  check_run(World::sim, {.kind = ContextKind::zigzag, .cp = 2, .tp = 2}, clipped_task(17));
  check_run(World::sim, {.kind = ContextKind::ring, .cp = 2, .pp = 2}, clipped_task(17));
  check_run(World::sim, {.kind = ContextKind::zigzag, .cp = 2, .dp = 2}, clipped_task(17));
  check_run(World::sim, {.kind = ContextKind::ulysses, .cp = 2, .tp = 2}, sgd_task(17));
  check_run(World::sim, {.kind = ContextKind::zigzag, .cp = 2, .dp = 2, .state = State::full_shard},
            clipped_task(17));
  check_run(World::sim, {.kind = ContextKind::ring, .cp = 2, .tp = 2, .between = Sequence::sliced},
            clipped_task(16));
  for (const World world : {World::shm, World::tcp}) {
    check_run(world, {ContextKind::ring, 2}, clipped_task(17));
    check_run(world, {ContextKind::zigzag, 3}, sgd_task(17));
    check_run(world, {.kind = ContextKind::ulysses, .cp = 2, .dp = 2}, clipped_task(16));
  }
}

TEST_CASE("equality: the bar finds what goes wrong between the ranks of a sequence") {
  for (const auto fault :
       {ContextFault::none, ContextFault::local_positions, ContextFault::local_mask,
        ContextFault::not_rescaled, ContextFault::own_lost, ContextFault::mean_of_ranks}) {
    for (const std::int64_t length : {16, 17}) {
      const Setting setting{.kind = ContextKind::ring, .cp = 2, .dp = 2, .fault = fault};
      const Distance seen = apart(World::sim, setting, first_step(length, 1, 0));
      CAPTURE(static_cast<int>(fault), length, seen.loss, seen.parameter, seen.worst);
      // Equal slices weigh alike.
      const bool harmless =
          fault == ContextFault::none || (fault == ContextFault::mean_of_ranks && length == 16);
      CHECK((seen.parameter <= test::of_gradients) == harmless);
    }
  }
}
