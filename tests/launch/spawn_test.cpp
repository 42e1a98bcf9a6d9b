// spawn: this test is the launcher, and its ranks are forked from it.
#include "engine/launch/spawn.hpp"

#include <signal.h>
#include <unistd.h>

#include <sys/stat.h>
#include <fstream>
#include <set>
#include <sstream>

#include "engine/comm/gloo.hpp"
#include "engine/comm/stores/socket.hpp"
#include "tests/catch.hpp"
#include "tests/course/scratch.hpp"

using namespace lockstep;
using namespace lockstep::launch;
using lockstep::test::contains;
using lockstep::test::Scratch;

namespace {

std::unique_ptr<comm::ProcessGroup> group_of(World& world) {
  comm::GlooOptions options;
  options.hostname = world.hostname;
  return comm::make_gloo_group(*world.store, world.environment.rank, world.environment.world_size,
                               options);
}

std::string failure_of(int ranks, const RankBody& body) {
  try {
    spawn(ranks, body);
  } catch (const RanksFailed& error) {
    return error.what();
  }
  return "nothing failed";
}

}  // namespace

TEST_CASE("spawn: every rank runs the body once, in a process of its own, in one world") {
  for (const int ranks : {1, 2, 3, 4, 5, 7, 8}) {
    const Scratch scratch;
    spawn(ranks, [&](World& world) {
      const auto group = group_of(world);
      CpuDevice device;
      const Tensor sum = full({1}, group->rank() + 1, DType::int64, device);
      group->all_reduce(sum, ReduceOp::sum);
      std::ofstream(scratch.path() / text(group->rank(), ".", getpid(), ".", sum.item()));
    });
    std::set<std::string> rank_numbers, pids;
    for (const auto& file : std::filesystem::directory_iterator(scratch.path())) {
      std::istringstream name(file.path().filename().string());
      std::string rank, pid, sum;
      std::getline(std::getline(std::getline(name, rank, '.'), pid, '.'), sum);
      rank_numbers.insert(rank);
      pids.insert(pid);
      CHECK(sum == text(ranks * (ranks + 1) / 2));
    }
    CHECK(rank_numbers.size() == static_cast<std::size_t>(ranks));
    CHECK(pids.size() == static_cast<std::size_t>(ranks));
    CHECK_FALSE(pids.contains(text(getpid())));
  }
}

TEST_CASE("spawn: what a rank throws comes back with its number, and the others are stopped") {
  const std::string said = failure_of(3, [](World& world) {
    if (world.environment.rank == 1) throw Error("the loss is not a number");
    while (true) pause();
  });
  CHECK_THAT(said, contains("rank 1 of 3 (pid ") && contains("exited with code 1") &&
                       contains("the 2 ranks still running were stopped") &&
                       contains("what it said: the loss is not a number"));
}

TEST_CASE("spawn: a rank that is killed is the cause, not those that miss it in a collective") {
  const std::string said = failure_of(4, [](World& world) {
    const auto group = group_of(world);
    if (group->rank() == 2) raise(SIGSEGV);
    group->barrier();
  });
  CHECK_THAT(said, contains("rank 2 of 4 (pid ") && contains("was killed by signal 11 (SIGSEGV)"));
}

TEST_CASE("spawn: an exit code of its own is told, and memory of the ranks is not ours") {
  int mine = 1;
  const std::string said = failure_of(2, [&](World& world) {
    mine = 2;
    if (world.environment.rank == 0) _exit(9);
    while (true) pause();
  });
  CHECK_THAT(said, contains("rank 0 of 2 (pid ") && contains("exited with code 9"));
  CHECK(mine == 1);
}

TEST_CASE("spawn: a rank holds none of this process's close-on-exec descriptors") {
  const comm::Descriptor listener = comm::listen_on("127.0.0.1", 0);
  struct stat mine {};
  REQUIRE(fstat(listener.get(), &mine) == 0);
  const std::string said = failure_of(1, [&](World&) {
    for (int fd = 0; fd < 100; ++fd) {
      struct stat its {};
      if (fstat(fd, &its) != 0) continue;
      if (its.st_ino == mine.st_ino && its.st_dev == mine.st_dev) throw Error("the socket is held");
    }
  });
  CHECK(said == "nothing failed");
}

TEST_CASE("spawn: no ranks are a mistake of whoever calls") {
  CHECK_THROWS_AS(spawn(0, [](World&) {}), UsageError);
}
