// What connects the ranks of a program that runs on one rank, too.
#pragma once

#include <memory>

#include "engine/comm/gloo.hpp"
#include "engine/comm/solo_group.hpp"
#include "engine/launch/world.hpp"

namespace lockstep::apps {

struct Ranks {
  std::unique_ptr<launch::World> joined;  // outlives the group; none for a rank nobody launched
  std::unique_ptr<comm::ProcessGroup> group;

  // The end of a run that went well (World::leave).
  void leave() const {
    if (joined) joined->leave();
  }
};

// The ranks that a launcher started, or this process alone.
inline Ranks join_ranks(comm::Transport transport = comm::Transport::automatic) {
  const launch::Lookup lookup = launch::process_environment();
  if (!launch::is_launched(lookup)) return {nullptr, comm::make_solo_group()};
  Ranks ranks{launch::join_world(lookup), nullptr};
  comm::GlooOptions gloo;
  gloo.transport = transport;
  gloo.hostname = ranks.joined->hostname;
  const launch::Environment& environment = ranks.joined->environment;
  ranks.group =
      comm::make_gloo_group(*ranks.joined->store, environment.rank, environment.world_size, gloo);
  return ranks;
}

}  // namespace lockstep::apps
