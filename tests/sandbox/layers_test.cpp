#include <unistd.h>

#include <iostream>

#include "grader/sandbox/probe.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::grader;

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
  const Sandbox sandbox(profile, places, area.path());
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
  const Sandbox sandbox(Profile::namespaces, places, area.path());
  const Attempts bare =
      attempt(places, area.path(), sandbox.player_launcher(Sandbox::Filter::off), {});
  const auto layers = layers_shown(Profile::namespaces, bare, bare);
  CHECK_FALSE(holds(layers, "filter: sockets"));
  CHECK_FALSE(holds(layers, "filter: processes"));
  CHECK(holds(layers, "files"));
  CHECK(holds(layers, "network"));
  CHECK(holds(layers, "memory"));
}

TEST_CASE("sandbox: a sandbox that cannot be entered is the lab's failure, not the player's") {
  const PrivateFolder area;
  CHECK_THROWS_WITH(attempt(places, area.path(), {"/bin/false"}, {}),
                    test::contains("the sandbox of a player did not start"));
}
