// Pipelines against one rank, as the other ways to train (equality_test.cpp): every schedule, tied
// and untied, with and without recomputation. By default a choice of the settings in which every
// two values of two properties meet at least once; the test cases tagged [.all] have the rest.
#include <algorithm>
#include <array>
#include <iostream>

#include "tests/catch.hpp"
#include "tests/equality/covering.hpp"
#include "tests/equality/ways.hpp"
#include "tests/equality/wrong_sums.hpp"

using namespace lockstep;
using pipeline::Schedule;
using test::adamw_task, test::alone, test::of_gradients, test::of_losses, test::of_weights,
    test::sgd_task;
using test::BarTask;
using test::World;
using train::StageState;

namespace {

struct Setting {
  Schedule schedule = Schedule::gpipe;
  int stages = 1, micro_batches = 1, pipelines = 1;
  nn::OutputHead head = nn::OutputHead::tied;
  nn::Keep keep = nn::Keep::activations;
  StageState state = StageState::whole;

  int ranks() const { return stages * pipelines; }
  std::int64_t batch() const { return 40 * pipelines; }  // 40 samples a pipeline
  // What of it stands beside what in a choice.
  std::array<int, 7> values() const {
    return {static_cast<int>(schedule),
            stages,
            micro_batches,
            pipelines,
            static_cast<int>(head),
            static_cast<int>(keep),
            static_cast<int>(state)};
  }
};

std::string text_of(const Setting& setting) {
  constexpr std::array<std::string_view, 4> names{"gpipe", "1f1b", "interleaved", "zero-bubble"};
  return text(names.at(static_cast<std::size_t>(setting.schedule)), ", ", setting.stages,
              " stages, ", setting.micro_batches, " micro-batches, ", setting.pipelines,
              setting.pipelines == 1 ? " pipeline, " : " pipelines, ",
              setting.head == nn::OutputHead::tied ? "tied" : "untied",
              setting.keep == nn::Keep::activations ? "" : ", recomputed",
              setting.state == StageState::whole ? "" : ", ZeRO 1");
}

std::vector<int> micro_batches_of(Schedule schedule, int stages) {
  if (schedule != Schedule::interleaved) return {1, 2, 5, 8};
  if (stages == 2) return {2, 8};
  return stages == 3 ? std::vector{3, 6} : std::vector{4, 8};
}

std::vector<Setting> all_settings() {
  std::vector<Setting> all;
  for (const Schedule schedule :
       {Schedule::gpipe, Schedule::one_f_one_b, Schedule::interleaved, Schedule::zero_bubble}) {
    for (const int stages : {1, 2, 3, 4}) {
      if (schedule == Schedule::interleaved && stages == 1) continue;
      for (const int micro_batches : micro_batches_of(schedule, stages)) {
        for (const int pipelines : {1, 2}) {
          for (const auto head : {nn::OutputHead::tied, nn::OutputHead::untied}) {
            for (const auto keep : {nn::Keep::activations, nn::Keep::block_inputs}) {
              all.push_back({schedule, stages, micro_batches, pipelines, head, keep});
              if (pipelines == 1) continue;
              all.push_back(all.back());
              all.back().state = StageState::sharded;
            }
          }
        }
      }
    }
  }
  return all;
}

test::MakeWay way_of(const Setting& setting) {
  return test::pipeline_way({.stages = setting.stages,
                             .micro_batches = setting.micro_batches,
                             .chunks = setting.schedule == Schedule::interleaved ? 2 : 1,
                             .schedule = setting.schedule,
                             .limits = {.first_bytes = 40'000, .cap_bytes = 300'000},
                             .state = setting.state});
}

// The interleaved schedule has two parts a stage, so that the model needs more layers.
BarTask with(BarTask task, const Setting& setting) {
  task.layers = setting.schedule == Schedule::interleaved ? 8 : 4;
  task.head = setting.head;
  task.keep = setting.keep;
  return task;
}

test::Distance apart(World world, const Setting& setting, const BarTask& task) {
  const BarTask mine = with(task, setting);
  return distance(test::course_of(world, setting.ranks(), way_of(setting), mine, setting.batch()),
                  alone(mine, setting.batch()));
}

void check_gradients(const Setting& setting, double dropout, std::int64_t accumulate = 1) {
  const auto seen = apart(World::sim, setting, test::first_gradients(accumulate, dropout));
  INFO(text_of(setting) << ", dropout " << dropout << ", " << accumulate
                        << " batches a step, worst: " << seen.worst);
  CHECK(seen.loss <= of_losses);
  CHECK(seen.parameter <= of_gradients);
}

void check_run(World world, const Setting& setting, const BarTask& task) {
  const auto seen = apart(world, setting, task);
  std::cout << text_of(setting) << ", " << name_of(world) << ", " << name_of(task.optimizer.kind)
            << ", dropout " << task.dropout << ", " << task.accumulate << " batches a step: losses "
            << seen.loss << " apart, parameters " << seen.parameter << std::endl;
  INFO(text_of(setting) << " on " << name_of(world) << ", worst: " << seen.worst);
  CHECK(seen.loss <= of_losses);
  CHECK(seen.parameter <= of_weights);
}

// Steps of two batches.
std::vector<Setting> accumulating() {
  return {{Schedule::one_f_one_b, 2, 5, 2, nn::OutputHead::tied, nn::Keep::activations},
          {Schedule::zero_bubble, 3, 8, 1, nn::OutputHead::untied, nn::Keep::block_inputs}};
}

// Each schedule once, and two of them once more.
std::vector<Setting> on_processes() {
  const auto tied = nn::OutputHead::tied, untied = nn::OutputHead::untied;
  const auto kept = nn::Keep::activations, again = nn::Keep::block_inputs;
  return {
      {Schedule::gpipe, 2, 5, 1, tied, kept},       {Schedule::one_f_one_b, 2, 8, 1, untied, again},
      {Schedule::interleaved, 2, 8, 1, tied, kept}, {Schedule::zero_bubble, 2, 5, 1, tied, again},
      {Schedule::one_f_one_b, 2, 2, 2, tied, kept}, {Schedule::zero_bubble, 3, 8, 1, untied, kept}};
}

}  // namespace

TEST_CASE("equality: the gradients of a pipeline's first step are one rank's, a choice") {
  const std::vector<Setting> chosen = test::covering(all_settings());
  CHECK(chosen.size() <= 40);
  for (const Setting& setting : chosen) {
    std::cout << text_of(setting) << std::endl;
    check_gradients(setting, 0);
  }
  check_gradients({Schedule::zero_bubble, 2, 5, 2, nn::OutputHead::tied, nn::Keep::block_inputs},
                  0.1);
  check_gradients({Schedule::interleaved, 3, 6, 1, nn::OutputHead::tied, nn::Keep::activations},
                  0.1);
  for (const Setting& setting : accumulating()) check_gradients(setting, 0, 2);
}

TEST_CASE("equality: runs of a pipeline have one rank's losses, a choice") {
  BarTask adamw = adamw_task(), sgd = sgd_task();
  adamw.steps = 10;
  sgd.steps = 15;
  const auto processes = on_processes();
  check_run(World::sim,
            {Schedule::one_f_one_b, 3, 5, 2, nn::OutputHead::tied, nn::Keep::activations}, adamw);
  check_run(World::sim,
            {Schedule::interleaved, 2, 2, 1, nn::OutputHead::tied, nn::Keep::activations}, sgd);
  // Three pipelines sum in an order that depends on the place in a shard.
  check_run(World::sim,
            {Schedule::one_f_one_b, 2, 5, 3, nn::OutputHead::tied, nn::Keep::activations,
             StageState::sharded},
            adamw);
  check_run(World::shm, processes[3], sgd);
  check_run(World::tcp, processes[0], adamw);
  adamw.accumulate = 2;
  check_run(World::sim, accumulating().front(), adamw);
}

TEST_CASE("equality: in float32, 20 steps of SGD through a pipeline stay within 1e-5") {
  const auto processes = on_processes();
  for (const Setting& setting : {processes[0], processes[1], processes[2], processes[3]}) {
    BarTask task = sgd_task();
    task.steps = 20;
    task.dtype = DType::float32;
    const auto seen = apart(World::sim, setting, task);
    INFO(text_of(setting) << ", worst: " << seen.worst);
    CHECK(seen.loss <= 1e-5);  // float32 rounds at 6e-8, and momentum adds up twenty of these
  }
}

TEST_CASE("equality: the bar finds a pipeline's wrong scale, and a tied gradient in part") {
  using test::WrongSum;
  const Setting setting{Schedule::one_f_one_b, 2, 5, 2, nn::OutputHead::tied,
                        nn::Keep::activations};
  BarTask sgd = sgd_task();
  sgd.steps = 5;
  for (const WrongSum fault : {WrongSum::none, WrongSum::summed, WrongSum::divided_twice,
                               WrongSum::tied_missing, WrongSum::tied_halved}) {
    std::vector<std::unique_ptr<comm::ProcessGroup>> worlds;  // outlive the strategies
    const auto way = [&](comm::ProcessGroup& group, Device& device, const train::Recipe& recipe,
                         const BarTask& task) {
      worlds.push_back(test::make_wrong_sums(group, fault, setting.micro_batches));
      return way_of(setting)(*worlds.back(), device, recipe, task);
    };
    const auto apart_in = [&](const BarTask& task) {
      const BarTask mine = with(task, setting);
      return distance(test::course_of(World::sim, setting.ranks(), way, mine, setting.batch()),
                      alone(mine, setting.batch()));
    };
    const auto first = apart_in(test::first_gradients(1, 0)), run = apart_in(sgd);
    CAPTURE(static_cast<int>(fault), first.parameter, first.worst, run.loss);
    CHECK((first.parameter <= of_gradients) == (fault == WrongSum::none));
    CHECK((run.loss <= of_losses) == (fault == WrongSum::none));
  }
}

TEST_CASE("equality: the gradients of a pipeline's first step are one rank's", "[.all]") {
  for (const Setting& setting : all_settings()) {
    for (const double dropout : {0.0, 0.1}) check_gradients(setting, dropout);
  }
}

TEST_CASE("equality: runs of a pipeline have one rank's losses", "[.all]") {
  for (const Setting& setting : test::covering(all_settings())) {
    BarTask adamw = adamw_task();
    adamw.dropout = setting.micro_batches == 2 ? 0.1 : 0;
    check_run(World::sim, setting, adamw);
    check_run(World::sim, setting, sgd_task());
  }
  for (const World world : {World::shm, World::tcp}) {
    for (const Setting& setting : on_processes()) {
      check_run(world, setting, adamw_task());
      check_run(world, setting, sgd_task());
    }
  }
  for (const Setting& setting : accumulating()) {
    BarTask adamw = adamw_task(), sgd = sgd_task();
    adamw.accumulate = sgd.accumulate = 2;
    check_run(World::sim, setting, adamw);
    check_run(World::sim, setting, sgd);
  }
}
