// Plays a part that the ranks of a group compute together: makes the group that the case is about,
// poisons fresh memory, and says how the call ended when a peer is lost.
#pragma once

#include "grader/play/case_world.hpp"
#include "grader/play/lost_peer.hpp"

namespace lockstep::grader {

// part(group, case, device) is what a member reports; a rank that sits out reports nothing. Case
// has a GroupChoice `group` and a Peer `peer`. A part that the judge serves is given the port, too;
// one that must leave something unchanged when it fails, the bytes in which to put that (keeping).
template <typename Case>
Bytes play_in_group(sim::PlayerCase& played, const auto& part) {
  const auto c = read_fields<Case>(played.input);
  const auto take_part = [&](sim::PlayerCase& here, Bytes& kept) -> Bytes {
    const auto held = make_case_world(here);
    Device& device = held->device();
    std::unique_ptr<comm::ProcessGroup> world;
    auto group = make_group(*held, here, c.group, world);
    if (!group) return {};
    Bytes report;
    if constexpr (requires { part(*group, c, device, here.port); }) {
      report = fields_to_bytes(part(*group, c, device, here.port));
    } else if constexpr (requires { part(*group, c, device, kept); }) {
      report = fields_to_bytes(part(*group, c, device, kept));
    } else {
      report = fields_to_bytes(part(*group, c, device));
    }
    end_groups(group, world);
    held->require_intact();
    require_released(device, 0);
    return report;
  };
  Bytes unread;
  if (c.peer == Peer::stays) return take_part(played, unread);
  return play_with_a_lost_peer(
      played, [&](sim::PlayerCase& watched, Bytes& kept) { take_part(watched, kept); });
}

}  // namespace lockstep::grader
