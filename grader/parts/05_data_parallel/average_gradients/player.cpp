// Plays average_gradients: parameters whose gradients the judge made, allocated in an order that
// differs from rank to rank.
#include "grader/parts/05_data_parallel/average_gradients/case.hpp"

#include "engine/parallel/data_parallel/average_gradients.hpp"
#include "grader/play/poison_device.hpp"

namespace lockstep::grader {

Bytes play(sim::PlayerCase& played) {
  const GradientCase c = decode_gradient_case(played.input);
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

}  // namespace lockstep::grader
