// Plays training_loop: trains a replica that begins with numbers of its own, on samples that the
// judge serves, and passes on what the loop logs.
#include "grader/parts/05_data_parallel/training_loop/case.hpp"

#include "grader/play/ranks_play.hpp"

namespace lockstep::grader {

Bytes play(sim::PlayerCase& played) {
  return play_in_group<TrainingLoopCase>(
      played,
      [](comm::ProcessGroup& group, const TrainingLoopCase& c, Device& device, sim::Port& port) {
        const ServedDataset dataset(port, c.dataset, c.dtype);
        OccasionalModel model(c.dataset, c.dtype, device, c.model_seed);
        const auto optimizer = make_optimizer(model, c.optimizer);
        train::LoopOptions options = c.options;
        options.log = [&](const train::LoggedStep& line) { tell(port, LogCall{line}); };
        train::distributed_train(group, model, *optimizer, dataset, options);
        return model.numbers();
      });
}

}  // namespace lockstep::grader
