// Shows that the sandbox holds, before anything is graded: a player of ours tries to break out of
// each layer. A layer counts only when it refuses what no other layer would have refused at that
// moment, and when what must work works.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/sim/hosts/process_host.hpp"
#include "grader/sandbox/sandbox.hpp"

namespace lockstep::grader {

// One layer, what it was seen to do, and whether that is enough.
struct Layer {
  std::string name, seen;
  bool holds = false;
};

// The report of the probing player: 0 if the attempt came through, else the error's number.
using Attempts = std::map<std::string, int>;

// Plays lab-probe under `launcher` (empty: unconfined).
//   Throws  Error when it does not answer
Attempts attempt(const Places& places, const std::filesystem::path& area,
                 const std::vector<std::string>& launcher, sim::PlayerLimits limits);

// The same in the place of a compiler, which has no line to a judge.
Attempts attempt_as_compiler(const Places& places, const Sandbox& sandbox,
                             const std::filesystem::path& area, Sandbox::Filter filter);

// The layers, as shown by the attempts with the filter and without it.
std::vector<Layer> layers_shown(Profile profile, const Attempts& filtered, const Attempts& bare);

// The layers around the compiler, shown with two small files.
std::vector<Layer> compiler_layers(const Places& places, const Sandbox& sandbox,
                                   const std::filesystem::path& area, const std::string& compiler);

// Makes those of a player's attempts that make sense for a process that has given up everything,
// and returns what came of them.
Attempts attempt_as_reader();

// No profile holds here: the reasons and the mends.
struct NoSandbox : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Proven {
  std::unique_ptr<Sandbox> sandbox;
  std::vector<Layer> layers;
};

// The first profile that holds, shown to hold; `area` must outlive it. `mark`: as the Sandbox's.
//   Throws  NoSandbox
Proven proven_sandbox(const Places& places, const std::filesystem::path& area,
                      const sim::PlayerLimits& limits, const std::string& compiler,
                      const std::string& mark = {});

}  // namespace lockstep::grader
