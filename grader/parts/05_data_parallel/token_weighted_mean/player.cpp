// Plays token_weighted_mean: sums of losses and their gradients, as the judge made them.
#include "grader/parts/05_data_parallel/token_weighted_mean/case.hpp"

#include "grader/play/lost_peer.hpp"
#include "grader/play/poison_device.hpp"

namespace lockstep::grader {
namespace {

Bytes average(sim::PlayerCase& played, const WeightedCase& c) {
  PoisonDevice device;
  std::unique_ptr<comm::ProcessGroup> world;
  const auto group = make_group(played, c.group, world);
  ByteWriter out;
  if (!group) return out.take();

  for (const WeightedCall& call : c.calls) {
    const HeldParameters held(call.mine, device);
    out.put(data_parallel::weighted_average(*group, held.list(), call.loss));
    held.report(out);
  }
  return out.take();
}

}  // namespace

Bytes play(sim::PlayerCase& played) {
  const WeightedCase c = decode_weighted_case(played.input);
  if (!c.peer_dies) return average(played, c);
  return play_with_a_lost_peer(played, [&](sim::PlayerCase& watched) { average(watched, c); });
}

}  // namespace lockstep::grader
