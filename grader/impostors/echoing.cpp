// As a part would that returns at once, where the case is one of buffers or gradients; elsewhere
// the bytes of the input.
#include "grader/impostors/impostor.hpp"
#include "grader/parts/05_data_parallel/average_gradients/case.hpp"
#include "grader/play/collective_case.hpp"
#include "grader/play/lost_peer.hpp"

namespace lockstep::grader {
namespace {

// As if the part returned at once. What it was not given is zero.
Bytes echo_of(const CollectiveCase& c) {
  ByteWriter out;
  for (const CollectiveCall& call : c.calls) {
    if (c.peer == Peer::lost) write_fields(out, LostPeerEnding{});
    out.put(std::int64_t{0});
    for (const HeldBuffer& held : call.buffers) {
      const bool given = !held.given.empty() || c.elements == Elements::none;
      const std::size_t bytes = static_cast<std::size_t>(held.count) * bytes_of(c.dtype);
      out.put_bytes(given ? held.given : Bytes(bytes));
    }
  }
  return out.take();
}

Bytes echo_of(const GradientCase& c) {
  CpuDevice device;
  ByteWriter out;
  if (c.peer == Peer::lost) {
    write_fields(out, LostPeerEnding{});
  } else if (c.group.color != comm::ProcessGroup::no_color) {
    write_fields(out, HeldParameters(c.mine, device).report());
  }
  return out.take();
}

}  // namespace

Bytes impostors_result(std::span<const std::byte> input, Dice&) {
  if (const auto c = case_in(input, read_fields<CollectiveCase>)) return echo_of(*c);
  if (const auto c = case_in(input, read_fields<GradientCase>)) return echo_of(*c);
  return {input.begin(), input.end()};
}

}  // namespace lockstep::grader
