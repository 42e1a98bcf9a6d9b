// Ranks that no launcher of ours started: rank 0 hosts the store, and all of them know when it
// ends.
#include "engine/launch/world.hpp"

#include <signal.h>
#include <unistd.h>

#include <future>
#include <iostream>
#include <map>
#include <memory>

#include "engine/base/error.hpp"
#include "engine/comm/stores/tcp_store.hpp"
#include "tests/catch.hpp"
#include "tests/comm/silent_port.hpp"
#include "tests/launch/run.hpp"

using namespace lockstep;
using namespace lockstep::launch;
using lockstep::test::contains;
using lockstep::test::Run;
using lockstep::test::SilentPort;
using Words = std::vector<std::string>;

namespace {

// Variables of `rank` of `size`, as a person or torchrun sets them.
std::map<std::string, std::string> variables_of(int rank, int size, int port) {
  return {{"RANK", text(rank)},         {"WORLD_SIZE", text(size)},
          {"LOCAL_RANK", text(rank)},   {"LOCAL_WORLD_SIZE", text(size)},
          {"MASTER_ADDR", "127.0.0.1"}, {"MASTER_PORT", text(port)}};
}

Lookup lookup_of(std::map<std::string, std::string> variables) {
  return [variables = std::move(variables)](const std::string& name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional<std::string>(found->second);
  };
}

Words environment_words(int rank, int size, int port) {
  Words words;
  for (const auto& [name, value] : variables_of(rank, size, port)) {
    words.push_back(text(name, "=", value));
  }
  return words;
}

const std::string smoke = LOCKSTEP_SMOKE;

// Whether mpirun is here. Says aloud that nothing was tested when it is not; ctest then counts the
// test as skipped.
bool has_mpirun() {
  Run run = Run::of({"/bin/sh", "-c", "command -v mpirun"});
  if (run.finish() == 0) return true;
  std::cerr << "SKIPPED: mpirun is not installed, so nothing was started with it (apt-get install "
               "openmpi-bin)\n";
  return false;
}

Words mpirun(int ranks, const Words& rest) {
  Words words{"mpirun", "--allow-run-as-root", "--oversubscribe", "-n", text(ranks)};
  words.insert(words.end(), rest.begin(), rest.end());
  return words;
}

}  // namespace

TEST_CASE("world: rank 0 hosts the store and leaves last") {
  const SilentPort silent;
  const int port = silent.number();
  auto zero = join_world(lookup_of(variables_of(0, 3, port)));
  auto one = join_world(lookup_of(variables_of(1, 3, port)));
  auto two = join_world(lookup_of(variables_of(2, 3, port)));
  CHECK(zero->hostname == "127.0.0.1");
  one->store->set("from one", "1");
  CHECK(two->store->get("from one") == "1");
  auto left = std::async(std::launch::async, [&] { zero->leave(); });
  one->leave();
  one.reset();
  CHECK(left.wait_for(std::chrono::seconds(0)) == std::future_status::timeout);
  two->leave();
  left.get();
}

TEST_CASE("world: the keys of one attempt are not those of another") {
  const comm::StoreServer server;
  auto variables = variables_of(0, 1, 1);
  variables["LOCKSTEP_STORE"] = text("127.0.0.1:", server.port());
  variables["LOCKSTEP_ADDR"] = "10.1.2.3";
  const auto first = join_world(lookup_of(variables));
  variables["TORCHELASTIC_RESTART_COUNT"] = "1";
  const auto second = join_world(lookup_of(variables));
  CHECK(first->hostname == "10.1.2.3");
  first->store->set("key", "old");
  CHECK_FALSE(second->store->check("key"));
  first->leave();  // the launcher hosts the store: nobody is waited for
}

TEST_CASE("world: a rank that ends without leaving is named by rank 0") {
  const SilentPort silent;
  const int port = silent.number();
  const auto zero = join_world(lookup_of(variables_of(0, 3, port)));
  const auto one = join_world(lookup_of(variables_of(1, 3, port)));
  join_world(lookup_of(variables_of(2, 3, port)));
  one->leave();
  CHECK_THROWS_WITH(zero->leave(0.1), contains("left/2"));
}

TEST_CASE("world: when rank 0 ends before its time, the others are told at once") {
  const SilentPort silent;
  const int port = silent.number();
  auto zero = join_world(lookup_of(variables_of(0, 2, port)));
  std::promise<std::string> told;
  JoinOptions options;
  options.rank_zero_lost = [&](const std::string& sentence) { told.set_value(sentence); };
  const auto one = join_world(lookup_of(variables_of(1, 2, port)), options);
  zero.reset();
  auto sentence = told.get_future();
  REQUIRE(sentence.wait_for(std::chrono::seconds(60)) == std::future_status::ready);
  CHECK_THAT(sentence.get(), contains("rank 1 of 2: rank 0, which hosts the store at 127.0.0.1:") &&
                                 contains("ended before the run was over"));
  CHECK_THROWS_AS(one->leave(), CommError);
}

TEST_CASE("world: a port that is taken, and a store that is not there, are one sentence") {
  const comm::StoreServer server;
  CHECK_THROWS_WITH(
      join_world(lookup_of(variables_of(0, 2, server.port()))),
      contains("rank 0 cannot host the store") && contains("is in use") && contains("MASTER_PORT"));
  const SilentPort silent;
  JoinOptions options;
  options.timeout_s = 0.1;
  CHECK_THROWS_WITH(join_world(lookup_of(variables_of(1, 2, silent.number())), options),
                    contains("nobody answers at 127.0.0.1:"));
}

TEST_CASE("world: beside torchrun's own store, ours is one port further") {
  auto variables = variables_of(0, 2, 29500);
  CHECK(read_environment(lookup_of(variables)).store.port == 29500);
  variables["TORCHELASTIC_USE_AGENT_STORE"] = "False";
  CHECK(read_environment(lookup_of(variables)).store.port == 29500);
  variables["TORCHELASTIC_USE_AGENT_STORE"] = "True";
  CHECK(read_environment(lookup_of(variables)).store.port == 29501);
}

TEST_CASE("world: a program runs under variables that a person typed") {
  const SilentPort silent;
  const int port = silent.number();
  std::vector<std::unique_ptr<Run>> runs;
  for (int rank = 0; rank < 3; ++rank) {
    runs.emplace_back(new Run(Run::of({smoke}, environment_words(rank, 3, port))));
  }
  for (int rank = 0; rank < 3; ++rank) {
    Run& run = *runs[static_cast<std::size_t>(rank)];
    CHECK(run.finish() == 0);
    CHECK_THAT(run.seen(), contains(text("rank ", rank, " of 3: 0 + … + 2 = 3")));
  }
}

TEST_CASE("world: the same program runs under mpirun") {
  if (!has_mpirun()) return;
  for (const int ranks : {2, 4}) {
    Run run = Run::of(mpirun(ranks, {smoke}));
    CHECK(run.finish() == 0);
    for (int rank = 0; rank < ranks; ++rank) {
      CHECK_THAT(run.seen(), contains(text("rank ", rank, " of ", ranks, ": 0 + … + ", ranks - 1,
                                           " = ", ranks * (ranks - 1) / 2)));
    }
  }
}

TEST_CASE("world: under mpirun a rank that dies is named by the others, and all end") {
  if (!has_mpirun()) return;
  for (const int rank : {0, 1}) {
    Run run = Run::of(mpirun(3, {LOCKSTEP_LOOP_RANK, "--fault", "between", "--rank", text(rank)}));
    CHECK(run.finish() != 0);
    CHECK_THAT(run.seen(), contains(text("rank ", rank)));
  }
}

TEST_CASE("world: the same program runs in a step of Slurm's, by its variables") {
  // What srun sets for three tasks on one node; no Slurm is asked.
  const SilentPort silent;
  const std::string port = text(silent.number());
  std::vector<std::unique_ptr<Run>> runs;
  for (int rank = 0; rank < 3; ++rank) {
    runs.emplace_back(
        new Run(Run::of({smoke}, {text("SLURM_PROCID=", rank), text("SLURM_LOCALID=", rank),
                                  "SLURM_NODEID=0", "SLURM_STEP_ID=0", "SLURM_JOB_ID=17",
                                  "SLURM_STEP_NUM_TASKS=3", "SLURM_STEP_TASKS_PER_NODE=3",
                                  "SLURM_STEP_NODELIST=127.0.0.1", "MASTER_PORT=" + port})));
  }
  for (int rank = 0; rank < 3; ++rank) {
    Run& run = *runs[static_cast<std::size_t>(rank)];
    CHECK(run.finish() == 0);
    CHECK_THAT(run.seen(), contains(text("rank ", rank, " of 3: 0 + … + 2 = 3")));
  }
}

TEST_CASE("world: launchers that mpirun started are nodes of one run") {
  if (!has_mpirun()) return;
  Run run = Run::of(mpirun(2, {LOCKSTEP_RUN, "--ranks", "2", "--", smoke}));
  CHECK(run.finish() == 0);
  for (int rank = 0; rank < 4; ++rank) {
    CHECK_THAT(run.seen(), contains(text("[rank ", rank, "] rank ", rank, " of 4")));
  }
}
