// Plays data_parallel_step: some steps of training on this rank's own samples.
#include "grader/play/step_case.hpp"

#include "engine/parallel/data_parallel/data_parallel_step.hpp"
#include "grader/play/ranks_play.hpp"
#include "grader/play/training.hpp"

namespace lockstep::grader {
namespace {

StepReport take_steps(comm::ProcessGroup& group, const StepCase& c, Device& device, Bytes& kept) {
  std::unique_ptr<nn::Module> model = nn::make_mlp(c.widths, c.dtype, device, c.model_seed);
  if (c.unused) model = std::make_unique<WithUnused>(std::move(model), c.dtype, device);
  const auto optimizer = make_optimizer(*model, c.optimizer);
  leave_gradients(*model);
  const auto steps = static_cast<std::int64_t>(c.labels.size()) / c.batch;
  StepReport report;
  for (std::int64_t step = 0; step < steps; ++step) {
    const data::Batch mine =
        make_batch(c.inputs, c.labels, c.widths.front(), step * c.batch, c.batch, c.dtype, device);
    const auto state = [&] { return StepReport{report.losses, false, values_of(*model)}; };
    keeping(kept, state, [&] {
      report.losses.push_back(
          data_parallel::data_parallel_step(group, *model, *optimizer, mine, c.clip_norm));
    });
  }
  report.first_has_gradient = model->parameters().front()->grad.defined();
  report.parameters = values_of(*model);
  return report;
}

}  // namespace

Bytes play(sim::PlayerCase& played) { return play_in_group<StepCase>(played, take_steps); }

}  // namespace lockstep::grader
