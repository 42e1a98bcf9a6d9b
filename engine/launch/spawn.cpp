// The launcher with a body instead of a program: same environment, store, reports and guard.
#include "engine/launch/spawn.hpp"

#include "engine/launch/error_file.hpp"
#include "engine/launch/launcher.hpp"

namespace lockstep::launch {

namespace {

// A rank says what it threw in its error file; the parent says it to whoever called spawn.
int run_rank(const RankBody& body) {
  const Lookup lookup = process_environment();
  try {
    return with_error_file(lookup, [&] {
      const auto world = join_world(lookup);
      body(*world);
      world->leave();
      return 0;
    });
  } catch (const std::exception&) {
    return 1;
  }
}

}  // namespace

void spawn(int ranks, const RankBody& body, const SpawnOptions& options) {
  LaunchOptions launch;
  launch.body = [&] { return run_rank(body); };
  launch.ranks = ranks;
  launch.grace_s = options.grace_s;
  launch.prefix = Prefix::none;
  const Ending ending = run_ranks(launch);
  if (ending.code != 0) throw RanksFailed(ending.report);
}

}  // namespace lockstep::launch
