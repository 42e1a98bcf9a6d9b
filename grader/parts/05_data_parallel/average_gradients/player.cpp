// Plays average_gradients: parameters whose gradients the judge made, allocated in an order that
// differs from rank to rank.
#include "grader/parts/05_data_parallel/average_gradients/case.hpp"

#include "engine/parallel/data_parallel/average_gradients.hpp"
#include "grader/play/lost_peer.hpp"
#include "grader/play/poison_device.hpp"

namespace lockstep::grader {
namespace {

Bytes average(sim::PlayerCase& played, const GradientCase& c) {
  PoisonDevice device;
  std::unique_ptr<comm::ProcessGroup> world;
  const auto group = make_group(played, c.group, world);
  ByteWriter out;
  if (!group) return out.take();

  const HeldParameters held(c.mine, device);
  data_parallel::average_gradients(*group, held.list());
  held.report(out);
  return out.take();
}

}  // namespace

Bytes play(sim::PlayerCase& played) {
  const GradientCase c = decode_gradient_case(played.input);
  if (!c.peer_dies) return average(played, c);
  return play_with_a_lost_peer(played, [&](sim::PlayerCase& watched) { average(watched, c); });
}

}  // namespace lockstep::grader
