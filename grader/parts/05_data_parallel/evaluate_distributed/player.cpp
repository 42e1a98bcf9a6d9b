// Plays evaluate_distributed: evaluates one model after the other on samples that the judge serves.
#include "grader/parts/05_data_parallel/evaluate_distributed/case.hpp"

#include "engine/train/evaluate.hpp"
#include "grader/play/poison_device.hpp"

namespace lockstep::grader {

Bytes play(sim::PlayerCase& played) {
  const EvaluateCase c = decode_evaluate_case(played.input);
  PoisonDevice device;
  const ServedDataset dataset(played.port, c.dataset, c.dtype);
  std::unique_ptr<comm::ProcessGroup> world;
  const auto group = make_group(played, c.group, world);
  ByteWriter out;
  if (!group) return out.take();

  for (const std::uint64_t seed : c.model_seeds) {
    MoodyModel model(c.dataset, c.dtype, device, seed);
    const train::Evaluation seen = train::evaluate(*group, model, dataset);
    bool touched = model.recorded();
    for (const Parameter* parameter : model.parameters()) {
      touched = touched || parameter->grad.defined();
    }
    write(out, EvaluateResult{seen.loss, seen.accuracy, nn::hash_of(model), touched,
                              model.left_training()});
  }
  return out.take();
}

}  // namespace lockstep::grader
