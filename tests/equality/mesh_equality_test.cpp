// Whole runs in several dimensions against one rank: layers that ranks share, stages, replicas and
// their shards, with every schedule, recomputed or not, with slices of sequences, tied or untied,
// with dropout, accumulated. A choice of the settings in which every two values of two properties
// meet (covering.hpp), of which ./lab test --all runs the first; the test cases tagged [.all] run
// the rest, and four each on processes.
#include <array>
#include <iostream>
#include <limits>
#include <string_view>
#include <vector>

#include "tests/catch.hpp"
#include "tests/equality/covering.hpp"
#include "tests/equality/spread.hpp"
#include "tests/equality/ways.hpp"

using namespace lockstep;
using pipeline::Schedule;
using tensor_parallel::Sequence;
using test::BarTask;
using test::LayerFault;
using test::Spread;
using test::World;
using Reduction = Spread::Reduction;

namespace {

struct Setting {
  Spread spread;
  nn::Keep keep = nn::Keep::activations;
  nn::OutputHead head = nn::OutputHead::tied;
  bool dropout = false;
  std::int64_t accumulate = 1;
  bool clipped = false;  // AdamW with a clip, or SGD without
  std::int64_t layers = 6;

  std::array<int, 12> values() const {
    const bool stages = spread.reduction == Reduction::stages;
    const bool shards = spread.reduction == Reduction::shards;
    return {spread.tp,
            spread.dp,
            spread.pp,
            static_cast<int>(spread.reduction),
            stages ? static_cast<int>(spread.schedule) : -1,
            stages ? static_cast<int>(spread.state) : -1,
            shards ? static_cast<int>(spread.sharding) : -1,
            static_cast<int>(spread.sequence),
            static_cast<int>(keep),
            static_cast<int>(head),
            dropout ? 1 : 0,
            clipped ? 1 : 0};
  }
};

// Gradients of replicas become one by DDP, or plainly, or as shards; in stages by DDP or ZeRO 1.
std::vector<Spread> reductions_of(int tp, int dp) {
  const Spread ddp{tp, dp};
  std::vector<Spread> all{ddp, ddp};
  all.back().reduction = Reduction::plain;
  if (dp > 1) {
    for (const auto sharding :
         {zero::Sharding::zero_1, zero::Sharding::zero_2, zero::Sharding::full_shard}) {
      all.push_back(ddp);
      all.back().reduction = Reduction::shards;
      all.back().sharding = sharding;
    }
  }
  for (const int pp : {2, 3}) {
    for (const Schedule schedule :
         {Schedule::gpipe, Schedule::one_f_one_b, Schedule::interleaved, Schedule::zero_bubble}) {
      if (schedule == Schedule::interleaved && pp == 3) continue;  // of two micro-batches
      for (const auto state : {train::StageState::whole, train::StageState::sharded}) {
        if (dp == 1 && state == train::StageState::sharded) continue;
        all.push_back(ddp);
        all.back().reduction = Reduction::stages;
        all.back().pp = pp;
        all.back().schedule = schedule;
        all.back().state = state;
      }
    }
  }
  return all;
}

std::vector<Spread> all_spreads() {
  std::vector<Spread> all;
  for (const int tp : {1, 2, 4}) {
    for (const int dp : {1, 2, 4}) {
      for (Spread spread : reductions_of(tp, dp)) {
        if (spread.ranks() == 1 || spread.ranks() > 16) continue;
        all.push_back(spread);
        spread.sequence = Sequence::sliced;
        if (tp > 1) all.push_back(spread);
      }
    }
  }
  return all;
}

std::vector<Setting> all_settings() {
  std::vector<Setting> all;
  for (const Spread& spread : all_spreads()) {
    for (const auto keep : {nn::Keep::activations, nn::Keep::block_inputs}) {
      for (const auto head : {nn::OutputHead::tied, nn::OutputHead::untied}) {
        for (const bool dropout : {false, true}) {
          const bool whole_steps = spread.reduction == Reduction::plain;
          all.push_back({spread, keep, head, dropout, 1, false});
          all.push_back({spread, keep, head, dropout, whole_steps ? 1 : 2, true});
        }
      }
    }
  }
  return all;
}

BarTask task_of(const Setting& setting) {
  BarTask task = setting.clipped ? test::adamw_task() : test::sgd_task();
  task.steps = setting.clipped ? 5 : 8;
  task.layers = setting.layers;
  task.width = 16;
  task.vocabulary = 257;
  task.keep = setting.keep;
  task.head = setting.head;
  task.dropout = setting.dropout ? 0.1 : 0;
  task.accumulate = setting.accumulate;
  return task;
}

constexpr std::int64_t batch = 16;

void check_run(World world, const Setting& setting) {
  test::check_run(world, setting.spread, task_of(setting), batch);
}

Spread stages(int tp, int dp, Sequence sequence, Schedule schedule,
              LayerFault fault = LayerFault::none) {
  Spread spread{tp, dp, sequence, fault, Reduction::stages};
  spread.pp = 2;
  spread.schedule = schedule;
  return spread;
}

// Of every kind: replicas, shards, stages, and all three dimensions.
std::vector<Setting> on_processes() {
  const auto kept = nn::Keep::activations, again = nn::Keep::block_inputs;
  const auto tied = nn::OutputHead::tied, untied = nn::OutputHead::untied;
  Spread shards{2, 2, Sequence::whole, LayerFault::none, Reduction::shards};
  Spread cube = stages(2, 2, Sequence::whole, Schedule::one_f_one_b);
  cube.state = train::StageState::sharded;
  return {{{2, 2, Sequence::sliced}, kept, untied, true, 2, true},
          {shards, again, tied, false, 2, true},
          {stages(2, 1, Sequence::sliced, Schedule::zero_bubble), again, untied, true, 1, false},
          {cube, kept, tied, true, 1, true}};
}

}  // namespace

TEST_CASE("equality: in several dimensions, the first of a choice of runs are one rank's") {
  const std::vector<Setting> chosen = test::covering(all_settings());
  CHECK(chosen.size() >= 24);
  for (std::size_t i = 0; i < 6; ++i) check_run(World::sim, chosen[i]);
}

// Of train_3d, the exam asks for decisions; these are the layouts in which they become a curve.
TEST_CASE("equality: a cube, and meshes of two axes and of one have one rank's loss curve") {
  check_run(World::sim, {stages(2, 2, Sequence::sliced, Schedule::one_f_one_b)});
  check_run(World::sim, {stages(4, 1, Sequence::sliced, Schedule::one_f_one_b)});
  check_run(World::sim, {stages(1, 4, Sequence::whole, Schedule::one_f_one_b)});
  check_run(World::sim, {{1, 8}});
}

TEST_CASE("equality: in stages, slices of sequences and a head of its own are one rank's") {
  for (const bool clipped : {false, true}) {
    check_run(World::sim, {stages(2, 2, Sequence::sliced, Schedule::one_f_one_b),
                           nn::Keep::activations, nn::OutputHead::untied, true, 1, clipped});
  }
}

// The last stage has a norm, which another rank counts, and a table, which another stage counts.
TEST_CASE("equality: a rank of which nothing counts in the norm clips as the others do") {
  for (const auto state : {train::StageState::whole, train::StageState::sharded}) {
    Setting setting{stages(2, 2, Sequence::sliced, Schedule::one_f_one_b)};
    setting.spread.state = state;
    setting.clipped = true;
    setting.layers = 1;
    check_run(World::sim, setting);
  }
}

TEST_CASE("equality: the bar finds what goes wrong between the ranks of a layer in a stage") {
  for (const LayerFault fault : {LayerFault::none, LayerFault::norms_not_summed,
                                 LayerFault::bias_everywhere, LayerFault::swapped}) {
    const auto sequence =
        fault == LayerFault::norms_not_summed ? Sequence::sliced : Sequence::whole;
    Setting setting{stages(2, 2, sequence, Schedule::one_f_one_b, fault)};
    setting.head = nn::OutputHead::untied;
    CAPTURE(static_cast<int>(fault));
    const auto loss = [&] {
      try {
        return test::apart(World::sim, setting.spread, task_of(setting), batch).loss;
      } catch (const std::exception& error) {
        const std::string_view why = error.what();
        if (why.find("copies of a parameter differ") == std::string_view::npos) throw;
        return std::numeric_limits<double>::infinity();
      }
    }();
    CHECK((loss <= test::of_losses) == (fault == LayerFault::none));
  }
}

TEST_CASE("equality: in several dimensions, a choice of runs are one rank's", "[.all]") {
  const std::vector<Setting> chosen = test::covering(all_settings());
  for (const Setting& setting : chosen) check_run(World::sim, setting);
  std::cout << chosen.size() << " runs" << std::endl;
}

TEST_CASE("equality: in several dimensions, on processes of shared memory and of TCP", "[.all]") {
  for (const World world : {World::shm, World::tcp}) {
    for (const Setting& setting : on_processes()) check_run(world, setting);
  }
}
