// Sharded state against one rank, as the other ways to train (equality_test.cpp). Gradients of the
// first step: every sharding by both plans, gathered ahead or not, recomputed or not, accumulated
// in both forms, on every number of ranks. Whole runs: a choice of them. And the mistakes that
// shards invite.
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
using zero::Cut;
using zero::Sharding;

namespace {

struct Setting {
  std::string name;
  train::ZeroOptions options;
};

// All that `ranks` ranks can have. Where parameters are whole on every rank, rows are not cut and
// nothing is gathered ahead; ZeRO 1 accumulates whole gradients only.
std::vector<Setting> all_settings(int ranks) {
  struct Named {
    std::string name;
    Sharding sharding;
    int shard_ranks = 0;
  };
  std::vector<Named> shardings = {{"no_shard", Sharding::no_shard},
                                  {"ZeRO 1", Sharding::zero_1},
                                  {"ZeRO 2", Sharding::zero_2},
                                  {"shard_grad_op", Sharding::shard_grad_op},
                                  {"full_shard", Sharding::full_shard}};
  for (int k = 1; k < ranks; ++k) {
    if (ranks % k == 0) shardings.push_back({text("hybrid_shard of ", k), Sharding::full_shard, k});
  }
  std::vector<Setting> all;
  for (const auto& [name, sharding, shard_ranks] : shardings) {
    if (sharding != Sharding::zero_1) {
      train::ZeroOptions plain{{sharding, 0}, AccumulateIn::shards, shard_ranks};
      plain.overlaps = false;
      all.push_back({name + ", plain", plain});
    }
    const bool gathers = sharding == Sharding::shard_grad_op || sharding == Sharding::full_shard;
    for (const Cut cut : {Cut::flat, Cut::rows}) {
      for (const int prefetch : {0, 3}) {
        if (!gathers && (cut == Cut::rows || prefetch > 0)) continue;
        for (const AccumulateIn in : {AccumulateIn::shards, AccumulateIn::whole}) {
          if (sharding == Sharding::zero_1 && in == AccumulateIn::shards) continue;
          all.push_back(
              {text(name, cut == Cut::rows ? " by rows" : "", prefetch > 0 ? ", 3 ahead" : "",
                    in == AccumulateIn::whole ? ", accumulated whole" : ""),
               {{sharding, prefetch, cut}, in, shard_ranks}});
        }
      }
    }
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

Distance apart_of(const Setting& setting, World world, int ranks, const BarTask& task,
                  std::int64_t batch) {
  return distance(test::course_of(world, ranks, way_of(setting.options), task, batch),
                  test::alone(task, batch));
}

void check_run(const Setting& setting, World world, int ranks, const BarTask& task) {
  const Distance apart = apart_of(setting, world, ranks, task, batch_for(ranks));
  const std::string run = text(setting.name, " on ", ranks, " ranks, ", name_of(world), ", ",
                               task.steps, " steps, ", task.accumulate, " batches");
  std::cout << run << ": losses " << apart.loss << " apart, parameters " << apart.parameter
            << std::endl;
  INFO(run << ", worst: " << apart.worst);
  CHECK(apart.loss <= test::of_losses);
  CHECK(apart.parameter <= test::of_weights);
}

// Six steps with a clip and eight without.
void check_runs(const Setting& setting, World world, int ranks, nn::Keep keep) {
  BarTask adamw = test::adamw_task(), sgd = test::sgd_task();
  adamw.accumulate = 2;
  adamw.steps = 6;
  adamw.keep = sgd.keep = keep;
  sgd.steps = 8;
  check_run(setting, world, ranks, adamw);
  check_run(setting, world, ranks, sgd);
}

}  // namespace

// Of a narrow model, so that there is time for all of them: two samples a rank, in two batches.
TEST_CASE("equality: sharded, the gradients of the first step are one rank's, in every setting") {
  int settings = 0;
  Distance most;
  for (const int ranks : {1, 2, 3, 4, 5, 8}) {
    for (const Setting& setting : all_settings(ranks)) {
      for (const nn::Keep keep : {nn::Keep::activations, nn::Keep::block_inputs}) {
        const bool other = ++settings % 2 == 0;
        BarTask task = test::first_gradients(2, settings % 3 == 0 ? 0.1 : 0);
        task.width = 16;
        task.keep = keep;
        task.head = other ? nn::OutputHead::untied : nn::OutputHead::tied;
        const Distance apart = apart_of(setting, World::sim, ranks, task, 2 * ranks);
        INFO(setting.name << " on " << ranks << " ranks, worst: " << apart.worst);
        CHECK(apart.loss <= test::of_losses);
        CHECK(apart.parameter <= test::of_gradients);
        most.loss = std::max(most.loss, apart.loss);
        most.parameter = std::max(most.parameter, apart.parameter);
      }
    }
  }
  std::cout << settings << " settings: losses at most " << most.loss << " apart, gradients "
            << most.parameter << std::endl;
}

// Every sharding, plan, prefetch and form of accumulation on several numbers of ranks.
TEST_CASE("equality: sharded, runs of 6 clipped steps and of 8 without a clip have its losses") {
  int runs = 0;
  for (const int ranks : {1, 2, 3, 4, 5, 8}) {
    const std::vector<Setting> all = all_settings(ranks);
    for (auto k = static_cast<std::size_t>(ranks); k < all.size(); k += 7) {
      check_runs(all[k], World::sim, ranks,
                 ++runs % 2 == 0 ? nn::Keep::block_inputs : nn::Keep::activations);
    }
  }
  CHECK(runs >= 24);
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

TEST_CASE("equality: sharded, on processes, four of shared memory and four of TCP") {
  BarTask adamw = test::adamw_task();
  adamw.accumulate = 2;
  adamw.steps = 4;
  const AccumulateIn whole = AccumulateIn::whole;
  check_run({"ZeRO 1", {{Sharding::zero_1, 0}, whole}}, World::shm, 2, adamw);
  check_run({"full_shard", {{Sharding::full_shard, 1}}}, World::shm, 3, adamw);
  check_run({"hybrid_shard of 2", {{Sharding::full_shard, 1}, {}, 2}}, World::shm, 4, adamw);
  check_run({"shard_grad_op by rows", {{Sharding::shard_grad_op, 1, Cut::rows}}}, World::shm, 3,
            adamw);
  check_run({"ZeRO 2", {{Sharding::zero_2, 0}}}, World::tcp, 3, adamw);
  check_run({"full_shard, 2 ahead", {{Sharding::full_shard, 2}}}, World::tcp, 2, adamw);
  check_run(
      {"full_shard by rows, accumulated whole", {{Sharding::full_shard, 0, Cut::rows}, whole}},
      World::tcp, 3, adamw);
  check_run({"hybrid_shard of 1", {{Sharding::full_shard, 1}, {}, 1}}, World::tcp, 2, adamw);
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
