// Plays data_parallel_step: some steps of training on this rank's own samples.
#include "grader/parts/05_data_parallel/data_parallel_step/case.hpp"

#include "engine/parallel/data_parallel/data_parallel_step.hpp"
#include "grader/play/lost_peer.hpp"
#include "grader/play/poison_device.hpp"
#include "grader/play/training.hpp"

namespace lockstep::grader {
namespace {

Bytes take_steps(sim::PlayerCase& played, const StepCase& c) {
  PoisonDevice device;
  std::unique_ptr<comm::ProcessGroup> world;
  const auto group = make_group(played, c.group, world);
  ByteWriter out;
  if (!group) return out.take();

  std::unique_ptr<nn::Module> model = nn::make_mlp(c.widths, c.dtype, device, c.model_seed);
  if (c.unused) model = std::make_unique<WithUnused>(std::move(model), c.dtype, device);
  const auto optimizer = make_optimizer(*model, c.optimizer);
  leave_gradients(*model);
  const auto steps = static_cast<std::int64_t>(c.labels.size()) / c.batch;
  std::vector<double> losses;
  for (std::int64_t step = 0; step < steps; ++step) {
    const data::Batch mine =
        make_batch(c.inputs, c.labels, c.widths.front(), step * c.batch, c.batch, c.dtype, device);
    losses.push_back(
        data_parallel::data_parallel_step(*group, *model, *optimizer, mine, c.clip_norm));
  }
  out.put_list(std::span<const double>(losses));
  out.put(static_cast<std::uint8_t>(model->parameters().front()->grad.defined()));
  for (const Parameter* parameter : model->parameters())
    out.put_bytes(parameter->value.raw_bytes());
  return out.take();
}

}  // namespace

Bytes play(sim::PlayerCase& played) {
  const StepCase c = decode_step_case(played.input);
  if (!c.peer_dies) return take_steps(played, c);
  return play_with_a_lost_peer(played, [&](sim::PlayerCase& watched) { take_steps(watched, c); });
}

}  // namespace lockstep::grader
