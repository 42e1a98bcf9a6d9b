// Tensor parallelism against one rank, as the other ways to train (equality_test.cpp): with whole
// sequences and with slices, tied and untied, alone and below DDP, and the mistakes that shared
// layers invite. A vocabulary of 257 is one that no number of ranks divides.
#include <algorithm>
#include <array>
#include <iostream>
#include <limits>
#include <string_view>
#include <vector>

#include "tests/catch.hpp"
#include "tests/equality/spread.hpp"
#include "tests/equality/ways.hpp"

using namespace lockstep;
using tensor_parallel::Sequence;
using test::BarTask;
using test::Distance;
using test::LayerFault;
using test::World;
using Setting = test::Spread;

namespace {

// The global batch is one that all numbers of replicas divide.
constexpr std::int64_t batch = 8;

// Every head, dropout and accumulation for each layout.
std::vector<BarTask> first_steps(const Setting& setting) {
  std::vector<BarTask> all;
  for (const auto head : {nn::OutputHead::tied, nn::OutputHead::untied}) {
    for (const double dropout : {0.0, 0.1}) {
      for (const std::int64_t accumulate : {1, 2}) {
        if (setting.reduction == Setting::Reduction::plain && accumulate > 1) continue;
        BarTask task = test::first_gradients(accumulate, dropout);
        task.head = head;
        task.vocabulary = dropout > 0 ? 257 : 256;
        task.keep = accumulate > 1 ? nn::Keep::block_inputs : nn::Keep::activations;
        all.push_back(task);
      }
    }
  }
  return all;
}

std::vector<Setting> all_settings() {
  std::vector<Setting> all;
  for (const auto& [tp, dp] : {std::pair{1, 2}, {2, 1}, {4, 1}, {2, 2}, {4, 2}, {2, 4}}) {
    for (const auto sequence : {Sequence::whole, Sequence::sliced}) {
      if (tp == 1 && sequence == Sequence::sliced) continue;
      all.push_back({tp, dp, sequence});
      all.push_back({tp, dp, sequence, LayerFault::none, Setting::Reduction::plain});
    }
  }
  return all;
}

void check_run(World world, const Setting& setting, const BarTask& task) {
  test::check_run(world, setting, task, batch);
}

// Infinitely far where ranks end with copies that differ, which the course refuses.
Distance apart_if_equal(const Setting& setting, const BarTask& task) {
  try {
    return apart(World::sim, setting, task, batch);
  } catch (const std::exception& error) {
    if (std::string_view(error.what()).find("copies of a parameter differ") ==
        std::string_view::npos) {
      throw;
    }
    constexpr double far = std::numeric_limits<double>::infinity();
    return {far, far, "copies"};
  }
}

BarTask clipped_task() {
  BarTask task = test::adamw_task();
  task.steps = 8;
  task.accumulate = 2;
  task.vocabulary = 257;
  task.dropout = 0.1;
  return task;
}

}  // namespace

TEST_CASE("equality: layers on several ranks, the gradients of the first step are one rank's") {
  int count = 0;
  Distance most;
  for (const Setting& setting : all_settings()) {
    for (const BarTask& task : first_steps(setting)) {
      const Distance seen = apart(World::sim, setting, task, batch);
      INFO(text_of(setting) << ", " << (task.head == nn::OutputHead::tied ? "tied" : "untied")
                            << ", dropout " << task.dropout << ", " << task.accumulate
                            << " batches, worst: " << seen.worst);
      CHECK(seen.loss <= test::of_losses);
      CHECK(seen.parameter <= test::of_gradients);
      most.loss = std::max(most.loss, seen.loss);
      most.parameter = std::max(most.parameter, seen.parameter);
      ++count;
    }
  }
  std::cout << count << " settings: losses at most " << most.loss << " apart, gradients "
            << most.parameter << std::endl;
}

// Layers on several ranks, in stages, in replicas: all of them at once.
TEST_CASE("equality: in three dimensions, the gradients of the first step are one rank's") {
  using pipeline::Schedule;
  int count = 0;
  Distance most;
  for (const auto& [dp, tp, pp] :
       {std::array{2, 2, 2}, {1, 4, 2}, {4, 1, 2}, {2, 4, 1}, {1, 2, 3}}) {
    for (const Schedule schedule :
         {Schedule::gpipe, Schedule::one_f_one_b, Schedule::interleaved, Schedule::zero_bubble}) {
      if (schedule == Schedule::interleaved && pp != 2) continue;
      for (const auto state : {train::StageState::whole, train::StageState::sharded}) {
        const bool odd = ++count % 2 == 1;
        const Setting setting{tp,
                              dp,
                              tp > 1 && odd ? Sequence::sliced : Sequence::whole,
                              LayerFault::none,
                              Setting::Reduction::stages,
                              pp,
                              schedule,
                              state};
        BarTask task = test::first_gradients(1, count % 3 == 0 ? 0.1 : 0);
        task.layers = 6;
        task.width = 16;
        task.vocabulary = 257;
        task.head = count % 4 < 2 ? nn::OutputHead::tied : nn::OutputHead::untied;
        task.keep = count % 5 < 2 ? nn::Keep::block_inputs : nn::Keep::activations;
        const Distance seen = apart(World::sim, setting, task, batch);
        INFO(text_of(setting) << ", worst: " << seen.worst);
        CHECK(seen.loss <= test::of_losses);
        CHECK(seen.parameter <= test::of_gradients);
        most.loss = std::max(most.loss, seen.loss);
        most.parameter = std::max(most.parameter, seen.parameter);
      }
    }
  }
  std::cout << count << " settings of three dimensions: losses at most " << most.loss
            << " apart, gradients " << most.parameter << std::endl;
}

// Shards are ranges of what a rank has of a layer.
TEST_CASE("equality: shares of layers in shards, gradients and clipped runs are one rank's") {
  using zero::Cut, zero::Sharding;
  int count = 0;
  for (const auto& [dp, tp] : {std::array{2, 2}, {3, 2}, {2, 4}}) {
    for (const auto& [sharding, cut] : {std::pair{Sharding::zero_1, Cut::flat},
                                        {Sharding::zero_2, Cut::flat},
                                        {Sharding::shard_grad_op, Cut::rows},
                                        {Sharding::full_shard, Cut::flat},
                                        {Sharding::full_shard, Cut::rows}}) {
      const bool odd = ++count % 2 == 1;
      Setting setting{tp, dp, odd ? Sequence::sliced : Sequence::whole};
      setting.reduction = Setting::Reduction::shards;
      setting.sharding = sharding;
      setting.cut = cut;
      BarTask task = test::first_gradients(2, odd ? 0.1 : 0);
      task.width = 16;
      task.vocabulary = 257;
      task.head = count % 4 < 2 ? nn::OutputHead::tied : nn::OutputHead::untied;
      const Distance seen = apart(World::sim, setting, task, 4 * dp);
      INFO(text_of(setting) << ", worst: " << seen.worst);
      CHECK(seen.loss <= test::of_losses);
      CHECK(seen.parameter <= test::of_gradients);
      if (dp == 2 && tp == 2) check_run(World::sim, setting, clipped_task());
    }
  }
}

TEST_CASE("equality: in three dimensions, clipped runs of AdamW and runs of SGD") {
  BarTask sgd = test::sgd_task(), adamw = clipped_task();
  sgd.steps = 8;
  adamw.accumulate = 1;
  adamw.steps = 5;
  for (const auto state : {train::StageState::whole, train::StageState::sharded}) {
    const Setting setting{2,
                          2,
                          Sequence::sliced,
                          LayerFault::none,
                          Setting::Reduction::stages,
                          2,
                          pipeline::Schedule::one_f_one_b,
                          state};
    check_run(World::sim, setting, adamw);
    check_run(World::sim, setting, sgd);
  }
  check_run(World::shm,
            {2, 1, Sequence::sliced, LayerFault::none, Setting::Reduction::stages, 2,
             pipeline::Schedule::zero_bubble},
            adamw);
}

TEST_CASE("equality: layers on several ranks, clipped runs of AdamW and runs of SGD") {
  BarTask sgd = test::sgd_task();
  sgd.steps = 10;
  for (const Setting& setting :
       {Setting{2, 1}, Setting{4, 1, Sequence::sliced}, Setting{2, 2, Sequence::sliced}}) {
    check_run(World::sim, setting, clipped_task());
    check_run(World::sim, setting, sgd);
  }
  for (const World world : {World::shm, World::tcp}) {
    check_run(world, {2, 1, Sequence::sliced}, clipped_task());
    check_run(world, {2, 2}, sgd);
  }
}

TEST_CASE("equality: the bar finds what goes wrong between the ranks of a layer") {
  struct Case {
    LayerFault fault;
    Sequence sequence;
  };
  for (const auto& [fault, sequence] :
       {Case{LayerFault::none, Sequence::whole}, Case{LayerFault::none, Sequence::sliced},
        Case{LayerFault::norms_not_summed, Sequence::sliced},
        Case{LayerFault::bias_everywhere, Sequence::whole},
        Case{LayerFault::swapped, Sequence::whole},
        Case{LayerFault::head_not_trained, Sequence::whole},
        Case{LayerFault::head_not_trained, Sequence::sliced},
        Case{LayerFault::mean_of_all_ranks, Sequence::whole}}) {
    const Setting setting{2, 2, sequence, fault};
    BarTask run = test::sgd_task();
    run.steps = 5;
    const Distance first = apart_if_equal(setting, test::first_gradients(1, 0));
    const Distance later = apart_if_equal(setting, run);
    CAPTURE(static_cast<int>(fault), static_cast<int>(sequence), first.parameter, first.worst,
            later.loss);
    // Biases begin at zero, so at first it does not matter how often they are added.
    const bool at_once = fault != LayerFault::none && fault != LayerFault::bias_everywhere;
    CHECK((first.parameter <= test::of_gradients) == !at_once);
    CHECK((later.loss <= test::of_losses) == (fault == LayerFault::none));
  }
}
