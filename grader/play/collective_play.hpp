// Plays a case of a collective: makes the buffers, calls the part as often as the case says, and
// returns what every buffer holds after each call.
#pragma once

#include <cstring>

#include "grader/play/collective_case.hpp"
#include "grader/play/poison_device.hpp"

namespace lockstep::grader {

// part(group, buffers, call, op)
template <typename Part>
Bytes play_collective(sim::PlayerCase& played, Part part) {
  const CollectiveCase c = decode_collective_case(played.input);
  PoisonDevice device;
  std::unique_ptr<comm::ProcessGroup> world;
  const auto group = make_group(played, c.group, world);
  ByteWriter out;
  if (!group) return out.take();
  for (const CollectiveCall& call : c.calls) {
    std::vector<Tensor> buffers;
    for (const HeldBuffer& held : call.buffers) {
      buffers.push_back(empty({held.count}, c.dtype, device));
      if (held.given.empty()) continue;
      std::memcpy(buffers.back().raw_bytes().data(), held.given.data(), held.given.size());
    }
    part(*group, std::span<const Tensor>(buffers), call, c.op);
    for (const Tensor& buffer : buffers) out.put_bytes(buffer.raw_bytes());
  }
  return out.take();
}

}  // namespace lockstep::grader
