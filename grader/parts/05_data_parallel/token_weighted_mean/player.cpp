// Plays token_weighted_mean: sums of losses and their gradients, as the judge made them.
#include "grader/parts/05_data_parallel/token_weighted_mean/case.hpp"

#include "grader/play/poison_device.hpp"

namespace lockstep::grader {

Bytes play(sim::PlayerCase& played) {
  const WeightedCase c = decode_weighted_case(played.input);
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

}  // namespace lockstep::grader
