#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>

#include "engine/sim/hosts/child_process.hpp"
#include "grader/course/text/text_file.hpp"
#include "grader/sandbox/probe.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::grader;
namespace fs = std::filesystem;

namespace {

const Places places{LOCKSTEP_ROOT, LOCKSTEP_BUILD};

std::string compiler() { return read_recipe(places.build / "recipes/broadcast.recipe").compiler; }

// True where the profile cannot be had on this machine: the test then says so, and ctest counts it
// as skipped.
bool cannot(Profile profile) {
  if (profile == Profile::landlock && ::geteuid() == 0) return false;
  if (profile == Profile::namespaces && ::access("/usr/bin/bwrap", X_OK) == 0) return false;
  std::cout << "NO SANDBOX HERE: " << name_of(profile) << " cannot be had by this user\n";
  return true;
}

void show_layers(Profile profile) {
  if (cannot(profile)) return;
  const PrivateFolder area;
  const Sandbox sandbox(profile, places, area.path(), compiler());
  using Filter = Sandbox::Filter;
  for (const Layer& layer :
       layers_shown(profile, attempt(places, area.path(), sandbox.player_launcher(Filter::on), {}),
                    attempt(places, area.path(), sandbox.player_launcher(Filter::off), {}))) {
    INFO(layer.name << ": " << layer.seen);
    CHECK(layer.holds);
  }
  for (const Layer& layer : compiler_layers(places, sandbox, area.path(), compiler())) {
    INFO(layer.name << ": " << layer.seen);
    CHECK(layer.holds);
  }
}

bool holds(const std::vector<Layer>& layers, const std::string& name) {
  for (const Layer& layer : layers) {
    if (layer.name == name) return layer.holds;
  }
  FAIL("no layer " << name);
  return false;
}

}  // namespace

TEST_CASE("sandbox: every layer of the namespaces holds") { show_layers(Profile::namespaces); }

TEST_CASE("sandbox: every layer holds without namespaces, as root") {
  show_layers(Profile::landlock);
}

TEST_CASE("sandbox: of a player without a sandbox the probe says that no layer holds") {
  const PrivateFolder area;
  sim::PlayerLimits open;
  open.memory_bytes = std::int64_t{4} << 30;
  const Attempts free = attempt(places, area.path(), {}, open);
  for (const Layer& layer : layers_shown(Profile::namespaces, free, free)) {
    if (layer.name == "threads that are needed") continue;  // what must work, works
    if (layer.name == "environment") continue;              // players never have one
    if (layer.name == "privileges" && ::geteuid() != 0) continue;
    if (layer.name == "the judge's memory" && !layer.holds) continue;
    INFO(layer.name << ": " << layer.seen);
    CHECK_FALSE(layer.holds);
  }
}

TEST_CASE("sandbox: without the filter the probe misses the filter, and nothing else") {
  if (cannot(Profile::namespaces)) return;
  const PrivateFolder area;
  const Sandbox sandbox(Profile::namespaces, places, area.path(), compiler());
  const Attempts bare =
      attempt(places, area.path(), sandbox.player_launcher(Sandbox::Filter::off), {});
  const auto layers = layers_shown(Profile::namespaces, bare, bare);
  CHECK_FALSE(holds(layers, "filter: sockets"));
  CHECK_FALSE(holds(layers, "filter: processes"));
  for (const char* name :
       {"bytes out of band", "attached descriptors", "messages", "names of files",
        "advice on memory", "memory that can be run", "memory that grows", "memory that is shared",
        "other programs", "threads of others"}) {
    CHECK_FALSE(holds(layers, std::string("filter: ") + name));
  }
  CHECK(holds(layers, "names of files"));
  CHECK(holds(layers, "files"));
  CHECK(holds(layers, "network"));
  CHECK(holds(layers, "memory"));
}

TEST_CASE("sandbox: without its empty root, a player without namespaces sees which files exist") {
  if (cannot(Profile::landlock)) return;
  const PrivateFolder area;
  const Sandbox sandbox(Profile::landlock, places, area.path(), compiler());
  auto launcher = sandbox.player_launcher(Sandbox::Filter::off);
  const auto root = std::find(launcher.begin(), launcher.end(), "--root");
  REQUIRE(root != launcher.end());
  launcher.erase(root, root + 2);
  const Attempts seeing = attempt(places, area.path(), launcher, {});
  CHECK_FALSE(holds(layers_shown(Profile::landlock, seeing, seeing), "names of files"));
}

TEST_CASE("sandbox: a compiler without namespaces is nobody, and its filter refuses sockets") {
  if (cannot(Profile::landlock)) return;
  const PrivateFolder area;
  const Sandbox sandbox(Profile::landlock, places, area.path(), compiler());
  using Filter = Sandbox::Filter;
  const Attempts filtered = attempt_as_compiler(places, sandbox, area.path(), Filter::on);
  const Attempts bare = attempt_as_compiler(places, sandbox, area.path(), Filter::off);
  CHECK(filtered.at("socket") == EPERM);
  CHECK(bare.at("socket") == 0);
  CHECK(bare.at("connect") != 0);  // Landlock's own rule, where the kernel has it
  CHECK(bare.at("uid") != 0);
  CHECK(bare.at("signal_judge") == EPERM);
}

// A thousand users are enough for all players at once; two are enough to show that none is shared.
TEST_CASE("sandbox: no two players have the same user") {
  if (cannot(Profile::landlock)) return;
  const PrivateFolder area;
  const Sandbox sandbox(Profile::landlock, places, area.path(), compiler());
  const auto taken = static_cast<uid_t>(62001 + ::getpid() % 2000);  // no other test uses it
  auto two = sandbox.player_launcher();
  const auto first = std::find(two.begin(), two.end(), "--uid");
  REQUIRE(first != two.end());
  *(first + 1) = std::to_string(taken);
  two.insert(two.begin() + 1, {"--ids", "2"});
  const pid_t holder = ::fork();
  if (holder == 0) {
    if (::setresuid(taken, taken, taken) != 0) ::_exit(1);
    for (;;) ::pause();
  }
  const auto is_taken = [&] { return ::getpriority(PRIO_USER, taken) != -1 || errno != ESRCH; };
  while (!is_taken()) ::usleep(1000);
  std::vector<int> users;
  for (int i = 0; i < 6; ++i) users.push_back(attempt(places, area.path(), two, {}).at("uid"));
  ::kill(holder, SIGKILL);
  siginfo_t dead;
  ::waitid(P_PID, static_cast<id_t>(holder), &dead, WEXITED | WNOWAIT);
  two[2] = "1";  // where the dead stay unburied, their users are free
  CHECK(attempt(places, area.path(), two, {}).at("uid") == static_cast<int>(taken));
  ::waitpid(holder, nullptr, 0);
  CHECK(users == std::vector<int>(6, static_cast<int>(taken) + 1));
}

TEST_CASE("sandbox: a reader that has given up everything can open, reach and run nothing") {
  const Attempts tried = attempt_as_reader();
  CHECK(tried.size() == 4);
  for (const auto& [what, error] : tried) {
    INFO(what);
    CHECK(error == EPERM);
  }
}

TEST_CASE("sandbox: when memory runs out, the kernel takes a player before anybody else") {
  const Profile profile = ::geteuid() == 0 ? Profile::landlock : Profile::namespaces;
  if (cannot(profile)) return;
  const PrivateFolder area;
  const Sandbox sandbox(profile, places, area.path(), compiler());
  const fs::path program = area.path() / "lab-probe";
  fs::copy_file(places.build / "bin" / "lab-probe", program);
  sim::PlayerLimits limits;
  limits.launcher = sandbox.player_launcher();
  sim::ChildProcess player({program.string()}, limits);
  player.await_start({program.string()});
  const std::string score = read_text("/proc/" + std::to_string(player.pid()) + "/oom_score_adj");
  CHECK(score == "1000\n");
}

namespace {

// Of the processes that have lost their parent to this one, those that still run.
std::vector<pid_t> orphans_here() {
  std::vector<pid_t> found;
  std::error_code gone;
  for (const auto& entry : fs::directory_iterator("/proc", gone)) {
    const std::string name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::ifstream file(entry.path() / "stat");
    std::string stat;  // of a process that ends meanwhile nothing
    std::getline(file, stat);
    char state = 0;
    int parent = 0;
    const auto name_end = stat.rfind(')');
    if (name_end == std::string::npos) continue;
    if (std::sscanf(stat.c_str() + name_end + 1, " %c %d", &state, &parent) != 2) continue;
    if (parent == ::getpid() && state != 'Z') found.push_back(std::atoi(stat.c_str()));
  }
  return found;
}

// Whether all of them have ended or carry the mark, in the end: one that has just been forked has
// the environment of this process until it becomes another program, and one that is about to end
// has none.
bool all_carry(const std::string& mark) {
  const auto is_left_without = [&](pid_t orphan) {
    std::ifstream file("/proc/" + std::to_string(orphan) + "/environ");
    std::string environment;
    std::getline(file, environment, '\0');
    return environment != mark;
  };
  for (int look = 0; look < 30'000; ++look) {
    const auto orphans = orphans_here();
    if (std::none_of(orphans.begin(), orphans.end(), is_left_without)) return true;
    ::usleep(1000);
  }
  return false;
}

}  // namespace

// Bubblewrap's inner process waits for the outer one before it asks to die with it.
TEST_CASE("sandbox: what is left of one whose judge is killed at its start carries the mark") {
  if (cannot(Profile::namespaces)) return;
  const PrivateFolder area;
  const std::string mark = "LOCKSTEP_LAUNCHER=a test's";
  const Sandbox sandbox(Profile::namespaces, places, area.path(), compiler(), mark);
  const fs::path program = area.path() / "lab-probe";
  fs::copy_file(places.build / "bin" / "lab-probe", program);
  sim::PlayerLimits limits;
  limits.launcher = sandbox.player_launcher();
  REQUIRE(::prctl(PR_SET_CHILD_SUBREAPER, 1) == 0);
  int left = 0;
  for (int start = 0; start < 300 && left < 3; ++start) {
    const pid_t judge = ::fork();
    if (judge == 0) {
      const sim::ChildProcess player({program.string()}, limits);
      ::pause();
    }
    ::usleep(static_cast<useconds_t>(500 + 40 * start));
    ::kill(judge, SIGKILL);
    ::waitpid(judge, nullptr, 0);
    for (int look = 0; look < 50 && !orphans_here().empty(); ++look) ::usleep(2000);  // most end
    REQUIRE(all_carry(mark));
    for (const pid_t orphan : orphans_here()) {
      ++left;
      ::kill(orphan, SIGKILL);
    }
    while (::waitpid(-1, nullptr, WNOHANG) > 0) continue;
  }
  ::prctl(PR_SET_CHILD_SUBREAPER, 0);
  if (left == 0) std::cout << "in 300 starts, nothing was left behind: the mark was not tried\n";
}

TEST_CASE("sandbox: a sandbox that cannot be entered is the lab's failure, not the player's") {
  const PrivateFolder area;
  CHECK_THROWS_WITH(attempt(places, area.path(), {"/bin/false"}, {}),
                    test::contains("the sandbox of a player did not start"));
}
