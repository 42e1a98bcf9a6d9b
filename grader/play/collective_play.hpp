// Plays a case of a collective: makes the buffers, calls the part as often as the case says, and
// returns what every buffer holds after each call.
#pragma once

#include "engine/tensor/symbolic.hpp"
#include "grader/play/case_world.hpp"
#include "grader/play/collective_case.hpp"
#include "grader/play/lost_peer.hpp"

namespace lockstep::grader {

// part(group, buffers, call, op)
template <typename Part>
Bytes play_collective(sim::PlayerCase& played, Part part) {
  const auto c = read_fields<CollectiveCase>(played.input);
  const auto numbers = make_case_world(played);
  SymbolicDevice sizes;
  Device& device = c.elements == Elements::given ? numbers->device() : sizes;
  LostPeer lost(played);
  std::unique_ptr<comm::ProcessGroup> world;
  auto group = make_group(*numbers, lost.watched(), c.group, world);
  ByteWriter out;
  if (!group) return out.take();
  for (const CollectiveCall& call : c.calls) {
    std::vector<Tensor> buffers;
    for (const HeldBuffer& held : call.buffers) {
      buffers.push_back(empty({held.count}, c.dtype, device));
      write_bytes(buffers.back(), held.given);
    }
    device.reset_peak();
    const std::int64_t held_bytes = device.bytes_now();
    const auto run = [&] { part(*group, std::span<const Tensor>(buffers), call, c.op); };
    if (c.peer == Peer::lost) {
      write_fields(out, lost.ending_of(run));
    } else {
      run();
    }
    out.put(device.bytes_peak() - held_bytes);
    for (const Tensor& buffer : buffers) {
      out.put_bytes(device.has_numbers() ? copy_of(buffer) : Bytes{});
    }
  }
  end_groups(group, world);
  numbers->require_intact();
  if (c.peer == Peer::stays) require_released(device, 0);
  return out.take();
}

}  // namespace lockstep::grader
