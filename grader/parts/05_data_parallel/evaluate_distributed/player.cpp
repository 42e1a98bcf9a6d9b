// Plays evaluate_distributed: evaluates one model after the other on samples that the judge serves.
#include "grader/parts/05_data_parallel/evaluate_distributed/case.hpp"

#include "engine/train/evaluate.hpp"
#include "grader/play/ranks_play.hpp"

namespace lockstep::grader {
namespace {

EvaluateResult evaluated(comm::ProcessGroup& group, MoodyModel& model,
                         const data::Dataset& dataset) {
  const train::Evaluation seen = train::evaluate(group, model, dataset);
  bool touched = model.recorded();
  for (const Parameter* parameter : model.parameters()) {
    touched = touched || parameter->grad.defined();
  }
  return {seen.loss, seen.accuracy, nn::hash_of(model), touched, model.left_training()};
}

}  // namespace

Bytes play(sim::PlayerCase& played) {
  return play_in_group<EvaluateCase>(played, [](comm::ProcessGroup& group, const EvaluateCase& c,
                                                Device& device, sim::Port& port) {
    const ServedDataset dataset(port, c.dataset, c.dtype);
    std::vector<EvaluateResult> results;
    for (const std::uint64_t seed : c.model_seeds) {
      MoodyModel model(c.dataset, c.dtype, device, seed);
      results.push_back(evaluated(group, model, dataset));
    }
    return results;
  });
}

}  // namespace lockstep::grader
