// Sharded state against one rank, as the other ways to train (equality_test.cpp): every sharding,
// gathered ahead or not, recomputed, accumulated in both forms; and the mistakes that shards
// invite.
#include <algorithm>
#include <iostream>
#include <memory>
#include <vector>

#include "engine/train/strategies/zero.hpp"
#include "tests/catch.hpp"
#include "tests/equality/ways.hpp"
#include "tests/equality/wrong_shards.hpp"

using namespace lockstep;
using test::BarTask;
using test::Distance;
using test::MakeWay;
using test::World;
using test::WrongShard;
using train::AccumulateIn;
using zero::Sharding;

namespace {

struct Setting {
  std::string name;
  train::ZeroOptions options;
};

std::vector<Setting> all_settings(int ranks) {
  std::vector<Setting> all = {
      {"no_shard", {{Sharding::no_shard, 0}}},
      {"ZeRO 1", {{Sharding::zero_1, 0}, AccumulateIn::whole}},
      {"ZeRO 2", {{Sharding::zero_2, 0}}},
      {"ZeRO 2, accumulated whole", {{Sharding::zero_2, 0}, AccumulateIn::whole}},
      {"shard_grad_op", {{Sharding::shard_grad_op, 1}}},
      {"full_shard", {{Sharding::full_shard, 0}}},
      {"full_shard by rows", {{Sharding::full_shard, 1, zero::Cut::rows}}},
      {"shard_grad_op by rows, accumulated whole",
       {{Sharding::shard_grad_op, 0, zero::Cut::rows}, AccumulateIn::whole}},
      {"full_shard, 3 ahead, accumulated whole", {{Sharding::full_shard, 3}, AccumulateIn::whole}},
  };
  for (int k = 1; k <= ranks; ++k) {
    if (ranks % k != 0 || ranks == 1) continue;
    all.push_back({text("hybrid_shard of ", k), {{Sharding::full_shard, 1}, {}, k}});
  }
  return all;
}

MakeWay way_of(const train::ZeroOptions& options) {
  return [=](comm::ProcessGroup& group, Device& device, const train::Recipe& recipe,
             const BarTask& task) {
    train::ZeroOptions of_rank = options;
    of_rank.strands = task.strands;
    return train::make_zero(group, device, recipe, task.clip_norm, of_rank);
  };
}

std::int64_t batch_for(int ranks) { return ranks == 5 ? 20 : 48; }

void check_run(const Setting& setting, World world, int ranks, const BarTask& task,
               double of_parameters = test::of_weights) {
  const std::int64_t batch = batch_for(ranks);
  const Distance apart =
      distance(test::course_of(world, ranks, way_of(setting.options), task, batch),
               test::alone(task, batch));
  const std::string run = text(setting.name, " on ", ranks, " ranks, ", name_of(world), ", ",
                               task.steps, " steps, ", task.accumulate, " batches");
  std::cout << run << ": losses " << apart.loss << " apart, parameters " << apart.parameter
            << std::endl;
  INFO(run << ", worst: " << apart.worst);
  CHECK(apart.loss <= test::of_losses);
  CHECK(apart.parameter <= of_parameters);
}

}  // namespace

TEST_CASE("equality: sharded, the gradients of the first step are one rank's, on any number") {
  for (const int ranks : {1, 2, 3, 4, 5, 8}) {
    int k = 0;
    for (const Setting& setting : all_settings(ranks)) {
      BarTask task = test::first_gradients(1 + ranks % 2, k % 3 == 0 ? 0.1 : 0);
      task.head = ++k % 4 == 0 ? nn::OutputHead::untied : nn::OutputHead::tied;
      task.keep = k % 2 == 0 ? nn::Keep::block_inputs : nn::Keep::activations;
      check_run(setting, World::sim, ranks, task, test::of_gradients);
    }
  }
}

TEST_CASE("equality: sharded, runs of 6 clipped steps and of 8 without a clip have its losses") {
  for (const int ranks : {3, 4}) {
    for (const Setting& setting : all_settings(ranks)) {
      BarTask adamw = test::adamw_task(), sgd = test::sgd_task();
      adamw.accumulate = 2;
      adamw.steps = 6;
      sgd.steps = 8;
      check_run(setting, World::sim, ranks, adamw);
      check_run(setting, World::sim, ranks, sgd);
    }
  }
}

TEST_CASE("equality: sharded, state on the host changes no bit of a run") {
  for (const int ranks : {1, 2, 3, 4}) {
    int k = 0;
    for (const Setting& setting : all_settings(ranks)) {
      const bool whole = setting.options.sharding.sharding <= Sharding::zero_2;
      const bool all = ++k % 2 == 0 && !whole;
      BarTask task = test::adamw_task();
      task.accumulate = k % 3 == 0 ? 2 : 1;
      task.steps = 3;
      task.head = ranks % 2 == 0 ? nn::OutputHead::untied : nn::OutputHead::tied;
      const auto course = [&](zero::Offload offload) {
        train::ZeroOptions options = setting.options;
        options.sharding.offload = offload;
        const MakeWay way = way_of(options);
        return test::course_of(World::sim, ranks, way, task, 24);
      };
      const test::Course here = course(zero::Offload::nothing);
      const test::Course there = course(all ? zero::Offload::all : zero::Offload::optimizer);
      INFO(setting.name << " on " << ranks << " ranks, all: " << all);
      CHECK(there.losses == here.losses);
      CHECK(there.names == here.names);
      CHECK(there.parameters == here.parameters);
    }
  }
}

TEST_CASE("equality: sharded, on processes, a choice") {
  BarTask adamw = test::adamw_task();
  adamw.accumulate = 2;
  adamw.steps = 4;
  check_run({"ZeRO 1", {{Sharding::zero_1, 0}, AccumulateIn::whole}}, World::shm, 2, adamw);
  check_run({"ZeRO 2", {{Sharding::zero_2, 0}}}, World::tcp, 3, adamw);
  check_run({"full_shard", {{Sharding::full_shard, 1}}}, World::shm, 3, adamw);
  check_run({"full_shard", {{Sharding::full_shard, 2}}}, World::tcp, 2, adamw);
  check_run({"hybrid_shard of 2", {{Sharding::full_shard, 1}, {}, 2}}, World::shm, 4, adamw);
  constexpr auto flat = zero::Cut::flat;
  check_run({"ZeRO 2, offloaded", {{Sharding::zero_2, 0, flat, zero::Offload::optimizer}}},
            World::shm, 2, adamw);
  check_run({"full_shard, offloaded", {{Sharding::full_shard, 1, flat, zero::Offload::all}}},
            World::tcp, 3, adamw);
}

TEST_CASE(
    "equality: the bar finds padding that leaks, a mean of a mean, a shifted shard, a norm of "
    "one shard") {
  const auto sharding = GENERATE(Sharding::zero_1, Sharding::zero_2, Sharding::full_shard);
  CAPTURE(static_cast<int>(sharding));
  BarTask task = test::adamw_task();
  task.optimizer = test::sgd_task().optimizer;  // AdamW divides a wrong scale away
  task.steps = 3;
  const auto passes = [&](WrongShard fault) {
    std::vector<std::unique_ptr<comm::ProcessGroup>> groups;  // outlive the strategies
    const MakeWay wrong = [&](comm::ProcessGroup& group, Device& device,
                              const train::Recipe& recipe, const BarTask& of_task) {
      groups.push_back(test::make_wrong_shards(group, fault));
      return way_of({{sharding, 1}})(*groups.back(), device, recipe, of_task);
    };
    const Distance apart =
        distance(test::course_of(World::sim, 3, wrong, task, 48), test::alone(task, 48));
    return apart.loss <= test::of_losses && apart.parameter <= test::of_weights;
  };
  CHECK(passes(WrongShard::none));
  CHECK_FALSE(passes(WrongShard::leaking_padding));
  CHECK_FALSE(passes(WrongShard::averaged_twice));
  CHECK_FALSE(passes(WrongShard::shifted));
  CHECK_FALSE(passes(WrongShard::local_norm));
}
