// The background strand in virtual time: what a cycle holds, and that cycles end.
#include "engine/optim/optimizer.hpp"
#include "tests/catch.hpp"
#include "tests/horovod/ranks.hpp"

using namespace lockstep;
using horovod::HorovodOptions;
using horovod::QueueFigures;
using lockstep::test::contains;
using lockstep::test::on_sim;
using lockstep::test::on_timed_sim;
using lockstep::test::Weighted;

namespace {

// The figures of rank 0 after one step in which each gradient takes `seconds` to compute.
QueueFigures figures_of(int ranks, double seconds, const HorovodOptions& given) {
  QueueFigures figures;
  const auto run = on_timed_sim(ranks, [&](comm::ProcessGroup& group, sim::FiberRank& rank) {
    CpuDevice device;
    Weighted model({100, 100, 100, 100, 100, 100}, device, DType::float32);
    for (Parameter& p : model.all) {
      p.hooks.emplace_back([&](Parameter&) { rank.port.compute(seconds); });
    }
    HorovodOptions options = given;
    options.strands = &rank.strands;
    const auto optimizer = horovod::make_distributed_optimizer(
        optim::make_sgd(model.parameters(), {}), group, options);
    model.backward(group.rank() + 1);
    optimizer->step();
    if (group.rank() == 0) figures = optimizer->figures();
  });
  CHECK(run.all() == "");
  return figures;
}

}  // namespace

TEST_CASE(
    "horovod on sim: what becomes ready within a cycle travels together, up to the threshold") {
  // All at once.
  CHECK(figures_of(3, 0, {.cycle_s = 1}).reductions == 1);
  CHECK(figures_of(3, 0, {.fusion_threshold_bytes = 800, .cycle_s = 1}).reductions == 3);
  CHECK(figures_of(3, 0, {.fusion_threshold_bytes = 0, .cycle_s = 1}).reductions == 6);
  // One a second: a cycle of 2.5 s holds the first, then two or three of them.
  const QueueFigures slow = figures_of(3, 1, {.cycle_s = 2.5});
  CHECK(slow.tensors == 6);
  CHECK(slow.reductions == 3);
  CHECK(slow.rounds == 3);
  CHECK(figures_of(3, 1, {.cycle_s = 0}).reductions == 6);
}

TEST_CASE("horovod on sim: gradients travel while backward computes the next ones") {
  const QueueFigures beside = figures_of(4, 1, {.cycle_s = 0});
  CHECK(beside.communication.total_s > 0);
  // All but the last.
  CHECK(beside.communication.exposed_s <= 0.2 * beside.communication.total_s);
}

TEST_CASE("horovod on sim: a rank that waits does not turn cycles while another computes") {
  for (const double cycle_s : {0.0, 1e-3}) {
    CAPTURE(cycle_s);
    std::vector<std::int64_t> rounds(3);
    const auto run = on_timed_sim(3, [&](comm::ProcessGroup& group, sim::FiberRank& rank) {
      CpuDevice device;
      Weighted model({10, 10, 10, 10}, device);
      if (group.rank() == 2) {
        for (Parameter& p : model.all) {
          p.hooks.emplace_back([&](Parameter&) { rank.port.compute(1000); });
        }
      }
      const auto optimizer = horovod::make_distributed_optimizer(
          optim::make_sgd(model.parameters(), {}), group,
          {.cycle_s = cycle_s, .stall_limit_s = 1e9, .strands = &rank.strands});
      model.backward(1);
      optimizer->step();
      rounds[static_cast<std::size_t>(group.rank())] = optimizer->figures().rounds;
    });
    CHECK(run.all() == "");
    CHECK(run.makespan_s < 4001);
    CHECK(rounds[0] <= 5);  // a gradient a round, and one for who waits
    CHECK(rounds[0] == rounds[2]);
  }
}

TEST_CASE("horovod on sim: a gradient that stays away for longer than the limit ends the step") {
  const auto run = on_timed_sim(2, [&](comm::ProcessGroup& group, sim::FiberRank& rank) {
    CpuDevice device;
    Weighted model({10, 10, 10, 10}, device);
    if (group.rank() == 1) {
      for (Parameter& p : model.all) {
        p.hooks.emplace_back([&](Parameter&) { rank.port.compute(50); });
      }
    }
    const auto optimizer =
        horovod::make_distributed_optimizer(optim::make_sgd(model.parameters(), {}), group,
                                            {.stall_limit_s = 60, .strands = &rank.strands});
    const std::string message = test::message_of([&] {
      model.backward(1);
      optimizer->step();
    });
    LOCKSTEP_EXPECT(message.find("the gradient p0 is ready on rank 0 and not on rank 1, after") !=
                    std::string::npos);
  });
  CHECK(run.all() == "");
}

TEST_CASE("horovod on sim: equal runs take equal virtual time and equally many bytes") {
  for (const int ranks : {2, 5}) {
    std::vector<std::pair<double, std::int64_t>> seen;
    for (int run = 0; run < 3; ++run) {
      std::int64_t bytes = 0;
      const auto done = on_timed_sim(ranks, [&](comm::ProcessGroup& group, sim::FiberRank& rank) {
        CpuDevice device;
        Weighted model({100, 7, 0, 31}, device);
        for (Parameter& p : model.all) {
          p.hooks.emplace_back([&](Parameter&) { rank.port.compute(1e-4 * (group.rank() + 1)); });
        }
        const auto optimizer = horovod::make_distributed_optimizer(
            optim::make_sgd(model.parameters(), {}), group, {.strands = &rank.strands});
        for (int step = 0; step < 5; ++step) {
          optimizer->zero_grad();
          model.backward(group.rank() + 1);
          optimizer->step();
        }
        bytes += optimizer->figures().bytes_sent;
      });
      CHECK(done.all() == "");
      seen.emplace_back(done.makespan_s, bytes);
    }
    CHECK(seen[1] == seen[0]);
    CHECK(seen[2] == seen[0]);
  }
}

TEST_CASE("horovod on sim: a rank that never comes is found, with what it was waited for") {
  const auto run = on_sim(3, [](comm::ProcessGroup& group, Strands& strands) {
    CpuDevice device;
    Weighted model({10, 10}, device);
    const auto optimizer = horovod::make_distributed_optimizer(
        optim::make_sgd(model.parameters(), {}), group, {.strands = &strands});
    if (group.rank() == 1) return;
    model.backward(1);
    optimizer->step();
  });
  CHECK_THAT(run.finding, contains("rank 1"));
  CHECK_THAT(run.thrown[0], contains("horovod: rank 0 asks for the gradients of p1"));
}

TEST_CASE("horovod on sim: a hook that throws, and a rank that is killed, are named to all") {
  const auto run = on_sim(3, [](comm::ProcessGroup& group, Strands& strands) {
    CpuDevice device;
    Weighted model({10, 10, 10}, device);
    if (group.rank() == 2) {
      model.all[1].hooks.emplace_back([](Parameter&) { throw Error("a hook of the test"); });
    }
    const auto optimizer = horovod::make_distributed_optimizer(
        optim::make_sgd(model.parameters(), {}), group, {.strands = &strands});
    model.backward(1);
    optimizer->step();
  });
  CHECK_THAT(run.finding, contains("rank 2 threw: a hook of the test"));
  CHECK_THAT(run.thrown[0], contains("rank 2"));

  for (const double time_s : {0.5, 1.5, 2.5, 3.5, 5.5, 8.5}) {
    CAPTURE(time_s);
    sim::Options options;
    options.faults.kills.push_back({.rank = 1, .at_s = time_s});
    const auto killed = on_timed_sim(
        3,
        [](comm::ProcessGroup& group, sim::FiberRank& rank) {
          CpuDevice device;
          Weighted model({10, 10, 10}, device);
          for (Parameter& p : model.all) {
            p.hooks.emplace_back([&](Parameter&) { rank.port.compute(1); });
          }
          const auto optimizer = horovod::make_distributed_optimizer(
              optim::make_sgd(model.parameters(), {}), group, {.strands = &rank.strands});
          for (int step = 0; step < 3; ++step) {
            optimizer->zero_grad();
            model.backward(1);
            optimizer->step();
          }
        },
        options);
    CHECK_THAT(killed.thrown[0], contains("rank 1"));
    CHECK_THAT(killed.thrown[2], contains("rank 1"));
    CHECK(killed.makespan_s < 60);
  }
}
