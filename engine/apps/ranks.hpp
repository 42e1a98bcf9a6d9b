// Connects the ranks of a program.
#pragma once

#include <memory>
#include <utility>

#include "engine/comm/gloo.hpp"
#include "engine/comm/nccl.hpp"
#include "engine/comm/solo_group.hpp"
#include "engine/launch/world.hpp"

namespace lockstep::apps {

struct Ranks {
  // Both outlive the group. A rank that nobody launched has no world, and a store of its own where
  // its group needs one.
  std::unique_ptr<launch::World> joined = nullptr;
  std::unique_ptr<comm::Store> own_store = nullptr;
  std::unique_ptr<comm::ProcessGroup> group = nullptr;
  // For ranks on GPUs: the pairs that messages have connected.
  std::shared_ptr<comm::NcclPairs> pairs = nullptr;

  // The end of a run that went well (World::leave).
  void leave() const {
    if (joined) joined->leave();
  }
};

using Joined = std::unique_ptr<launch::World>;

// The ranks of a launcher, in a world that is `joined` or is now; as join_world, make_gloo_group.
// The group is of the first `members` of them, of which this is one; 0: of all.
inline Ranks join_launched(comm::Transport transport = comm::Transport::automatic,
                           Joined joined = nullptr, int members = 0) try {
  if (!joined) joined = launch::join_world(launch::process_environment());
  Ranks ranks{.joined = std::move(joined)};
  comm::GlooOptions gloo;
  gloo.transport = transport;
  gloo.hostname = ranks.joined->hostname;
  const launch::Environment& environment = ranks.joined->environment;
  ranks.group = comm::make_gloo_group(*ranks.joined->store, environment.rank,
                                      members > 0 ? members : environment.world_size, gloo);
  return ranks;
} catch (const CommError& error) {
  // Whoever is waited for may not exist: then the variables that speak of it are left over.
  const std::string leftovers = launch::told_of_leftovers(launch::process_environment());
  if (leftovers.empty()) throw;
  throw CommError(error.what() + leftovers);
}

// The same, or this process alone where nobody launched it.
inline Ranks join_ranks(comm::Transport transport = comm::Transport::automatic,
                        Joined joined = nullptr, int members = 0) {
  if (!launch::is_launched(launch::process_environment()))
    return {.group = comm::make_solo_group()};
  return join_launched(transport, std::move(joined), members);
}

}  // namespace lockstep::apps
