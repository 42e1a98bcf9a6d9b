// Every way to train against one rank: gradients, losses and weights. By default the gradients of
// step 1 on any number of ranks, and a choice of the longer runs; the test cases tagged [.all] have
// the rest. Each line that is printed says how far the run is from one rank's.
#include <algorithm>
#include <iostream>

#include "tests/catch.hpp"
#include "tests/equality/ways.hpp"

using namespace lockstep;
using test::BarTask;
using test::Distance;
using test::MakeWay;
using test::World;

namespace {

struct NamedWay {
  std::string name;
  MakeWay make;
};

// In step; two servers where there are two ranks.
MakeWay async_way() {
  return [](comm::ProcessGroup& group, Device& device, const train::Recipe& recipe,
            const BarTask& task) {
    return test::async_way(std::min(group.size(), 2))(group, device, recipe, task);
  };
}

std::vector<NamedWay> all_ways() {
  using test::ddp_way;
  return {{"ddp", ddp_way(ddp::Unused::refuse)},
          {"ddp that may leave parameters out", ddp_way(ddp::Unused::reduce)},
          {"ddp static graph", ddp_way(ddp::Unused::fixed)},
          {"horovod", test::horovod_way()},
          {"async in step", async_way()}};
}

// Divides among the ranks, and into two batches each.
std::int64_t batch_for(int ranks) { return ranks == 5 ? 20 : 48; }

// A run against one rank's. Prints the run and how far apart the two are.
void check_run(const NamedWay& way, World world, int ranks, const BarTask& task,
               double of_parameters = test::of_weights) {
  const std::string run =
      text(way.name, " on ", ranks, " ranks, ", name_of(world), ", ", task.steps,
           task.steps == 1 ? " step of " : " steps of ", name_of(task.optimizer.kind), ", ",
           task.accumulate, " batches, dropout ", task.dropout);
  const std::int64_t batch = batch_for(ranks);
  const Distance apart =
      distance(test::course_of(world, ranks, way.make, task, batch), test::alone(task, batch));
  std::cout << run << ": losses " << apart.loss << " apart, parameters " << apart.parameter
            << (apart.worst.empty() ? "" : ", worst in " + apart.worst) << std::endl;
  INFO(run << ", worst: " << apart.worst);
  CHECK(apart.loss <= test::of_losses);
  CHECK(apart.parameter <= of_parameters);
}

void check_gradients(const NamedWay& way, World world, int ranks, std::int64_t accumulate,
                     double dropout) {
  check_run(way, world, ranks, test::first_gradients(accumulate, dropout), test::of_gradients);
}

}  // namespace

TEST_CASE("equality: the gradients of the first step are one rank's, on any number of ranks") {
  for (const NamedWay& way : all_ways()) {
    for (const int ranks : {1, 2, 3, 4, 5, 8}) {
      check_gradients(way, World::sim, ranks, ranks % 2 == 0 ? 2 : 1, 0);
      if (ranks % 2 != 0) check_gradients(way, World::sim, ranks, 2, 0.1);
    }
  }
}

TEST_CASE("equality: the gradients of the first step are one rank's, on processes, a choice") {
  const std::vector<NamedWay> ways = all_ways();
  for (std::size_t w = 0; w < ways.size(); ++w) {
    const int few = w % 2 == 0 ? 2 : 3;
    check_gradients(ways[w], World::shm, few, 2, 0);
    check_gradients(ways[w], World::tcp, 5 - few, 2, 0);
  }
}

TEST_CASE("equality: the gradients of the first step are one rank's, in all worlds", "[.all]") {
  for (const NamedWay& way : all_ways()) {
    for (const World world : {World::sim, World::shm, World::tcp}) {
      for (const int ranks : {1, 2, 3, 4, 5, 8}) {
        for (const std::int64_t accumulate : {1, 2}) {
          for (const double dropout : {0.0, 0.1}) {
            check_gradients(way, world, ranks, accumulate, dropout);
          }
        }
      }
    }
  }
}

TEST_CASE("equality: runs of 10 and 15 steps have one rank's losses, a choice of them") {
  const std::vector<NamedWay> ways = all_ways();
  for (std::size_t w = 0; w < ways.size(); ++w) {
    BarTask adamw = test::adamw_task(), sgd = test::sgd_task();
    adamw.accumulate = 2;
    adamw.steps = 10;
    sgd.steps = 15;
    check_run(ways[w], World::sim, w % 2 == 0 ? 3 : 4, adamw);
    check_run(ways[w], w % 2 == 0 ? World::shm : World::tcp, 2, sgd);
  }
}

TEST_CASE("equality: runs of 20 and 50 steps have one rank's losses, all of them", "[.all]") {
  for (const NamedWay& way : all_ways()) {
    for (const World world : {World::sim, World::shm, World::tcp}) {
      for (const int ranks : {1, 2, 3, 4, 5, 8}) {
        for (const std::int64_t accumulate : {1, 2}) {
          BarTask adamw = test::adamw_task(), sgd = test::sgd_task();
          adamw.accumulate = sgd.accumulate = accumulate;
          adamw.dropout = accumulate == 2 ? 0.1 : 0;
          check_run(way, world, ranks, adamw);
          check_run(way, world, ranks, sgd);
        }
      }
    }
  }
}

TEST_CASE("equality: in float32, 20 steps of SGD stay within 1e-5") {
  BarTask task = test::sgd_task();
  task.steps = 20;
  task.dtype = DType::float32;
  for (const NamedWay& way : all_ways()) {
    const auto apart =
        distance(test::course_of(World::sim, 4, way.make, task, 48), test::alone(task, 48));
    INFO(way.name << ", worst: " << apart.worst);
    CHECK(apart.loss <= 1e-5);  // float32 rounds at 6e-8, and momentum adds up twenty of these
  }
}
