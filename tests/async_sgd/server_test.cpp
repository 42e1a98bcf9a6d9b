// A server and workers that do nothing but push, in virtual time: when each push arrives is known,
// so which updates it has missed is, too.
#include "engine/parallel/async_sgd/server.hpp"

#include <optional>

#include "engine/parallel/async_sgd/pair_groups.hpp"
#include "engine/parallel/async_sgd/server_links.hpp"
#include "tests/async_sgd/ranks.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using lockstep::test::Approx;
using lockstep::test::contains;

namespace {

struct Worker {
  double seconds = 0;  // of a step
  std::int64_t steps = 0;
};

struct Task {
  std::vector<Worker> workers{};
  std::int64_t staleness = async_sgd::unbounded;
  std::int64_t count = 3;  // n
  sim::Faults faults{};
};

// What a worker has seen.
struct SeenByWorker {
  std::vector<double> began_s;
  std::vector<std::int64_t> versions, staleness;
  std::vector<double> losses;
  std::vector<double> parameters;  // [n] at the end
};

struct Outcome {
  async_sgd::ServerReport report;
  std::vector<std::string> lost;
  std::vector<SeenByWorker> workers;
  std::string finding;
};

// Element i of the gradient of a worker's step: other numbers everywhere, none of them zero, whose
// sum depends on the order.
double gradient_at(int worker, std::int64_t step, std::int64_t i) {
  return (1.0 + 0.1 * worker) / (3.0 + static_cast<double>(7 * step + i));
}

// The server of this rank. Task and outcome outlive it.
struct ServerHere {
  Tensor parameters;
  std::vector<comm::ProcessGroup*> groups;
  std::optional<async_sgd::ParameterServer> server;

  ServerHere(const async_sgd::PairGroups& pairs, Strands& strands, Device& device, const Task& task,
             Outcome& outcome)
      : parameters(full({task.count}, 10, DType::float64, device)) {
    for (const auto& group : pairs.to_workers) groups.push_back(group.get());
    async_sgd::ServerOptions options;
    options.staleness = task.staleness;
    options.update = [this](const Tensor& gradient, double rate) {
      gradient.scale_(-rate);
      parameters.reduce_(gradient, ReduceOp::sum);
    };
    options.on_lost = [&outcome](int worker, const std::string& why) {
      outcome.lost.push_back(text(worker, ": ", why));
    };
    server.emplace(groups, parameters, strands, options, device);
  }
};

SeenByWorker work_here(comm::ProcessGroup& group, sim::FiberRank& self, Device& device,
                       const Task& task) {
  SeenByWorker seen;
  const Worker worker = task.workers.at(static_cast<std::size_t>(self.rank));
  const Tensor buffer = empty({task.count}, DType::float64, device);
  async_sgd::ServerLinks links(text("worker ", self.rank), {{&group, buffer, 0}},
                               async_sgd::Clip::not_here, device);
  links.pull();
  for (std::int64_t step = 0; step < worker.steps; ++step) {
    seen.began_s.push_back(group.now_s());
    self.port.compute(worker.seconds);
    for (std::int64_t i = 0; i < task.count; ++i) {
      buffer.data<double>()[i] = gradient_at(self.rank, step, i);
    }
    const auto answer = links.push(100 * self.rank + static_cast<double>(step), 0.5);
    seen.versions.push_back(answer.version);
    seen.staleness.push_back(answer.staleness);
    seen.losses.push_back(answer.loss);
  }
  links.finish();
  for (std::int64_t i = 0; i < task.count; ++i) seen.parameters.push_back(buffer.item(i));
  return seen;
}

// Rank 0 serves beside its work.
Outcome run(const Task& task) {
  Outcome outcome;
  outcome.workers.resize(task.workers.size());
  const auto ran = test::on_ranks(
      static_cast<int>(task.workers.size()),
      [&](comm::ProcessGroup& world, sim::FiberRank& self) {
        CpuDevice device;
        async_sgd::PairGroups pairs = async_sgd::connect(world, 1, self.strands);
        std::optional<ServerHere> here;
        if (self.rank == 0) here.emplace(pairs, self.strands, device, task, outcome);
        outcome.workers[static_cast<std::size_t>(self.rank)] =
            work_here(*pairs.to_servers.front(), self, device, task);
        if (here) outcome.report = here->server->join();
      },
      task.faults);
  outcome.finding = ran.finding;
  return outcome;
}

std::vector<std::int64_t> histogram_of(const Outcome& outcome) {
  std::vector<std::int64_t> histogram;
  for (const SeenByWorker& worker : outcome.workers) {
    for (const std::int64_t staleness : worker.staleness) {
      const auto place = static_cast<std::size_t>(staleness);
      if (histogram.size() <= place) histogram.resize(place + 1);
      ++histogram[place];
    }
  }
  return histogram;
}

}  // namespace

TEST_CASE("async server: S = 0 is an update a step, with the mean in the order of workers") {
  for (const int ranks : {1, 2, 3, 5, 8, 13}) {
    for (const std::int64_t count : {0, 1, 7}) {
      CAPTURE(ranks, count);
      Task task{.staleness = 0, .count = count};
      constexpr std::int64_t steps = 4;
      // The last worker pushes first.
      for (int w = 0; w < ranks; ++w) task.workers.push_back({1.0 + 0.25 * (ranks - w), steps});
      const Outcome outcome = run(task);
      REQUIRE(outcome.finding == "");
      CHECK(outcome.report.updates == steps);
      CHECK(outcome.report.pushes == steps * ranks);
      CHECK(outcome.report.staleness == std::vector<std::int64_t>{steps * ranks});
      std::vector<double> expected;
      for (std::int64_t i = 0; i < count; ++i) {
        double parameter = 10;
        for (std::int64_t step = 0; step < steps; ++step) {
          double mean = gradient_at(0, step, i) * (1.0 / ranks);
          for (int w = 1; w < ranks; ++w) mean += gradient_at(w, step, i) * (1.0 / ranks);
          parameter += mean * -0.5;
        }
        expected.push_back(parameter);
      }
      for (const SeenByWorker& worker : outcome.workers) {
        CHECK(worker.parameters == expected);  // bit for bit
        CHECK(worker.versions == std::vector<std::int64_t>{1, 2, 3, 4});
        for (std::int64_t step = 0; step < steps; ++step) {
          CHECK(worker.losses[static_cast<std::size_t>(step)] ==
                Approx(50.0 * (ranks - 1) + static_cast<double>(step)));
        }
      }
    }
  }
}

TEST_CASE("async server: without a bound each push is an update, and counts those it has missed") {
  // Worker 0 pushes at 1, 2, …, 8 s, worker 1 at 3.6 and 7.2 s.
  const Outcome outcome = run({.workers = {{1, 8}, {3.6, 2}}});
  REQUIRE(outcome.finding == "");
  CHECK(outcome.workers[0].versions == std::vector<std::int64_t>{1, 2, 3, 5, 6, 7, 8, 10});
  CHECK(outcome.workers[0].staleness == std::vector<std::int64_t>{0, 0, 0, 1, 0, 0, 0, 1});
  CHECK(outcome.workers[1].versions == std::vector<std::int64_t>{4, 9});
  CHECK(outcome.workers[1].staleness == std::vector<std::int64_t>{3, 4});
  CHECK(outcome.report.staleness == std::vector<std::int64_t>{6, 2, 0, 1, 1});
  CHECK(outcome.report.updates == 10);
  // Each with half its gradient: what worker 0 has at the end is all of it.
  for (std::int64_t i = 0; i < 3; ++i) {
    double expected = 10;
    for (int step = 0; step < 8; ++step) expected -= 0.5 * gradient_at(0, step, i) / 2;
    for (int step = 0; step < 2; ++step) expected -= 0.5 * gradient_at(1, step, i) / 2;
    CHECK(outcome.workers[0].parameters[static_cast<std::size_t>(i)] ==
          Approx(expected).epsilon(1e-12));
  }
}

TEST_CASE("async server: a worker never waits for a slower one without a bound") {
  const Outcome outcome = run({.workers = {{1, 6}, {4, 6}, {1, 6}}});
  for (const int fast : {0, 2}) {
    for (std::size_t step = 0; step < 6; ++step) {
      // Messages take some microseconds.
      CHECK(outcome.workers[static_cast<std::size_t>(fast)].began_s[step] ==
            Approx(static_cast<double>(step)).margin(0.01));
    }
  }
}

TEST_CASE("async server: with the bound S a worker is at most S steps ahead when it begins") {
  const Outcome outcome = run({.workers = {{1, 6}, {10, 6}}, .staleness = 2});
  REQUIRE(outcome.finding == "");
  // Three steps at once; then one whenever the other has finished one.
  const std::vector<double> expected{0, 1, 2, 10, 20, 30};
  for (std::size_t step = 0; step < 6; ++step) {
    CHECK(outcome.workers[0].began_s[step] == Approx(expected[step]).margin(0.01));
  }
  for (const int ranks : {2, 3, 5}) {
    for (const std::int64_t bound : {1, 2, 4}) {
      CAPTURE(ranks, bound);
      Task task{.staleness = bound};
      for (int w = 0; w < ranks; ++w) task.workers.push_back({1.0 + 3.1 * w, 12});
      const Outcome many = run(task);
      REQUIRE(many.finding == "");
      CHECK(many.report.staleness == histogram_of(many));
      CHECK(std::ssize(many.report.staleness) - 1 <= (2 * bound + 1) * (ranks - 1));
      CHECK(many.report.pushes == 12 * ranks);
    }
  }
}

TEST_CASE("async server: a lost worker is named and leaves the minimum, and the others go on") {
  for (const std::int64_t bound : {std::int64_t{0}, std::int64_t{1}, async_sgd::unbounded}) {
    CAPTURE(bound);
    Task task{.workers = {{1, 8}, {1.5, 8}, {1.2, 8}}, .staleness = bound};
    task.faults.kills = {{.rank = 2, .at_s = 4.1}};  // has pushed two or three times
    const Outcome outcome = run(task);
    REQUIRE(outcome.finding == "");
    CHECK(outcome.report.lost == std::vector<int>{2});
    REQUIRE(outcome.lost.size() == 1);
    CHECK_THAT(outcome.lost[0], contains("2: ") && contains("rank 2"));
    CHECK(outcome.workers[0].staleness.size() == 8);
    CHECK(outcome.workers[1].staleness.size() == 8);
    const std::int64_t by_lost = bound == 0 ? 2 : 3;
    CHECK(outcome.report.pushes == 16 + by_lost);
    if (bound != 0) continue;
    CHECK(outcome.report.updates == 8);
    // From the third step on, the mean is that of the two others.
    double expected = 10;
    for (int step = 0; step < 8; ++step) {
      const double sum = gradient_at(0, step, 0) + gradient_at(1, step, 0);
      expected -= 0.5 * (step < 2 ? (sum + gradient_at(2, step, 0)) / 3 : sum / 2);
    }
    CHECK(outcome.workers[0].parameters[0] == Approx(expected).epsilon(1e-12));
  }
}

TEST_CASE("async server: a lost server ends every worker, with its number") {
  Task task{.workers = {{1, 8}, {1.5, 8}, {1.2, 8}}};
  task.faults.kills = {{.rank = 0, .at_s = 4.1}};
  const Outcome outcome = run(task);
  CHECK_THAT(outcome.finding, contains("rank 0"));
  CHECK(outcome.workers[1].staleness.empty());  // it threw before it could report
}
