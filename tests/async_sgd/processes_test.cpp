// --async on processes: one rank's losses with S = 0, runs without a bound, and what becomes of a
// run that loses a worker, or a server. A rank kills itself after a step, so that nothing depends
// on time.
#include <signal.h>

#include <array>
#include <cmath>
#include <condition_variable>
#include <fstream>
#include <functional>
#include <mutex>
#include <sstream>

#include "engine/base/temporary_folder.hpp"
#include "engine/launch/launcher.hpp"
#include "engine/launch/spawn.hpp"
#include "engine/train/loop.hpp"
#include "engine/train/strategies/async.hpp"
#include "tests/catch.hpp"
#include "tests/comm/ranks.hpp"

using namespace lockstep;
using lockstep::test::contains;

namespace {

struct Task {
  int ranks = 3;
  std::int64_t staleness = 0;
  int servers = 0;
  int killed = -1;  // this rank, after its fifth step
  int signal = SIGKILL;
  // In its fourth step, rank 0 does nothing until it has been told of a lost worker.
  enum class Rank0 { trains, stands_still } rank_0 = Rank0::trains;
  std::function<void()> on_spare{};
};

constexpr std::int64_t steps = 12;
constexpr std::int64_t step_of_death = 5;
constexpr double deadline_s = 20;

// What is said to rank 0 by a strand of its server.
class Told {
 public:
  void say(const std::string& sentence) {
    const std::scoped_lock lock(mutex_);
    sentence_ = sentence;
    said_.notify_all();
  }
  std::string wait() {
    std::unique_lock lock(mutex_);
    said_.wait_for(lock, std::chrono::duration<double>(deadline_s),
                   [&] { return !sentence_.empty(); });
    return sentence_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable said_;
  std::string sentence_;
};

struct Watch final : train::Observer {
  int signal = 0;  // that this rank gets
  std::vector<double> losses;
  train::Summary summary;
  Told* told = nullptr;  // of a rank that stands still
  std::string heard;
  void on_step(const train::StepReport& report) override {
    losses.push_back(report.loss);
    if (told != nullptr && report.step == step_of_death - 1) heard = told->wait();
    if (signal != 0 && report.step == step_of_death) raise(signal);
  }
  void on_epoch(const train::EpochReport&) override {}
  void on_end(const train::Summary& all) override { summary = all; }
};

// Trains here, and returns what rank 0 has seen.
Watch train_here(comm::ProcessGroup& group, const Task& task) {
  const auto train_set = data::make_synthetic(120, 16, 5, 1);
  const auto test_set = data::make_synthetic(41, 16, 5, 2);
  CpuDevice device;
  const auto strands = make_thread_strands();
  train::Recipe recipe;
  recipe.model.widths = {16, 24, 12, 5};
  recipe.model.dtype = DType::float64;
  recipe.optimizer.sgd = {.learning_rate = 0.05, .momentum = 0.9};
  recipe.seed = 3;
  train::AsyncOptions of_servers;
  of_servers.staleness = task.staleness;
  of_servers.servers = task.servers;
  of_servers.strands = strands.get();
  of_servers.on_spare = task.on_spare;
  Told told;
  of_servers.tell = [&](const std::string& sentence) { told.say(sentence); };
  const auto strategy = train::make_async(group, device, recipe, 0, of_servers);
  train::TrainOptions options;
  options.batch_size = 60 / group.size();
  options.steps = steps;
  Watch watch;
  if (group.rank() == task.killed) watch.signal = task.signal;
  if (group.rank() == 0 && task.rank_0 == Task::Rank0::stands_still) watch.told = &told;
  const std::array<train::Observer*, 1> observers{&watch};
  train::train(*strategy, *train_set, *test_set, options, observers);
  return watch;
}

std::vector<double> losses_in(const std::string& text) {
  std::istringstream in(text);
  std::vector<double> losses;
  for (std::string word; in >> word;) losses.push_back(std::strtod(word.c_str(), nullptr));
  return losses;
}

std::string text_of(const std::vector<double>& losses) {
  std::ostringstream out;
  out << std::hexfloat;
  for (const double loss : losses) out << loss << ' ';
  return out.str();
}

std::vector<double> losses_of(const Task& task, comm::Transport transport) {
  const auto outcomes = test::run_gloo(
      task.ranks,
      [&](comm::ProcessGroup& group) { return text_of(train_here(group, task).losses); },
      test::late_s, transport);
  REQUIRE(test::failures(outcomes) == "");
  return losses_in(outcomes.front().message);
}

comm::GlooOptions options_for(const launch::World& world, comm::Transport transport) {
  comm::GlooOptions options;
  options.transport = transport;
  options.hostname = world.hostname;
  options.timeout_s = 10;
  return options;
}

// The same under the launcher, which lets the ranks without a server go. What rank 0 has seen is
// in `told`.
launch::Ending launched(Task task, comm::Transport transport, std::string& told) {
  const TemporaryFolder folder("async");
  const auto file = folder.path() / "rank_0";
  launch::LaunchOptions options;
  options.ranks = task.ranks;
  options.prefix = launch::Prefix::others;
  options.body = [&] {
    const auto world = launch::join_world(launch::process_environment());
    const launch::Environment& environment = world->environment;
    const auto group = comm::make_gloo_group(
        *world->store, environment.rank, environment.world_size, options_for(*world, transport));
    task.on_spare = [&] { world->be_spare(); };
    try {
      const Watch seen = train_here(*group, task);
      if (environment.rank != 0) return 0;
      std::ofstream out(file);
      out << seen.losses.size() << " steps";
      for (const std::string& sentence : seen.summary.asynchrony.lost) out << "\n" << sentence;
      return 0;
    } catch (const Error& error) {
      std::ofstream(file) << error.what();
      return 1;
    }
  };
  const launch::Ending ending = launch::run_ranks(options);
  std::ostringstream read;
  read << std::ifstream(file).rdbuf();
  told = read.str();
  return ending;
}

constexpr std::array transports{comm::Transport::shm, comm::Transport::gloo};

}  // namespace

TEST_CASE("async processes: with S = 0, three workers have one rank's losses, bit for bit alike") {
  const auto expected = losses_of({.ranks = 1}, comm::Transport::shm);
  REQUIRE(std::ssize(expected) == steps);
  for (const comm::Transport transport : transports) {
    for (const int servers : {1, 3}) {
      const auto seen = losses_of({.ranks = 3, .servers = servers}, transport);
      REQUIRE(seen.size() == expected.size());
      for (std::size_t k = 0; k < seen.size(); ++k) {
        CAPTURE(k, servers);
        CHECK(std::abs(seen[k] / expected[k] - 1) <= 1e-12);  // other sums, in float64
      }
    }
  }
}

TEST_CASE("async processes: with a bound and without, every worker takes all of its steps") {
  for (const comm::Transport transport : transports) {
    for (const std::int64_t staleness : {std::int64_t{1}, async_sgd::unbounded}) {
      const auto outcomes = test::run_gloo(
          4,
          [&](comm::ProcessGroup& group) {
            const Watch seen = train_here(group, {.ranks = 4, .staleness = staleness});
            test::expect(std::ssize(seen.losses) == steps, "steps are missing");
            std::int64_t pushes = 0;
            for (const std::int64_t count : seen.summary.asynchrony.staleness) pushes += count;
            test::expect(pushes == 4 * steps, text("the server saw ", pushes, " pushes"));
            return std::string();
          },
          test::late_s, transport);
      CHECK(test::failures(outcomes) == "");
    }
  }
}

TEST_CASE("async processes: a killed worker is named, and the others train to their end") {
  for (const auto& [transport, staleness] : {std::pair{comm::Transport::shm, async_sgd::unbounded},
                                             {comm::Transport::gloo, std::int64_t{0}}}) {
    CAPTURE(staleness);
    std::string told;
    const auto ending =
        launched({.ranks = 3, .staleness = staleness, .servers = 1, .killed = 2}, transport, told);
    CHECK(ending.code == 1);
    CHECK_THAT(ending.report, contains("rank 2 of 3 (pid ") && contains("was killed by signal 9"));
    CHECK_THAT(ending.report, !contains("stopped"));
    CHECK_THAT(told, contains("12 steps") &&
                         contains("worker 2 is lost, and the others go on without it"));
  }
}

TEST_CASE("async processes: a killed worker is named at once, whatever rank 0 is doing") {
  const auto transport = GENERATE(comm::Transport::shm, comm::Transport::gloo);
  const Task task{.ranks = 3,
                  .staleness = async_sgd::unbounded,
                  .servers = 1,
                  .killed = 2,
                  .rank_0 = Task::Rank0::stands_still};
  const auto outcomes = test::run_gloo(
      3, [&](comm::ProcessGroup& group) { return train_here(group, task).heard; }, test::late_s,
      transport);
  CHECK(outcomes[0].ok);
  CHECK_THAT(outcomes[0].message, contains("worker 2 is lost, and the others go on without it: "));
  CHECK(outcomes[0].seconds < deadline_s);
}

TEST_CASE("async processes: a worker that hangs is lost after a deadline, and killed", "[.all]") {
  std::string told;
  const auto ending = launched({.ranks = 3, .servers = 1, .killed = 2, .signal = SIGSTOP},
                               comm::Transport::shm, told);
  CHECK(ending.code == 1);
  CHECK_THAT(ending.report, contains("rank 2 of 3 (pid ") && contains("was killed by signal 9"));
  CHECK_THAT(told, contains("12 steps") && contains("worker 2 is lost"));
}

TEST_CASE("async processes: a killed server ends the run, and every worker names it") {
  // With a bound, so that no worker has finished when it dies.
  for (const auto& [transport, staleness] :
       {std::pair{comm::Transport::shm, std::int64_t{0}}, {comm::Transport::gloo, 2}}) {
    CAPTURE(staleness);
    const Task task{.ranks = 3, .staleness = staleness, .servers = 2, .killed = 1};
    const auto outcomes = test::run_gloo(
        3,
        [&](comm::ProcessGroup& group) {
          train_here(group, task);
          return std::string();
        },
        test::late_s, transport);
    for (const std::size_t rank : {0, 2}) {
      CAPTURE(rank, outcomes[rank].message);
      CHECK_FALSE(outcomes[rank].ok);
      CHECK_THAT(outcomes[rank].message,
                 contains(text("worker ", rank)) && contains("server 1, on rank 1, is lost"));
      CHECK(outcomes[rank].seconds < 20);  // before any deadline
    }
  }
  std::string told;
  const auto ending = launched({.ranks = 3, .staleness = 0, .servers = 2, .killed = 1},
                               comm::Transport::gloo, told);
  CHECK(ending.code == 1);
  CHECK_THAT(ending.report, contains("rank 1 of 3 (pid ") && contains("was killed by signal 9"));
}
