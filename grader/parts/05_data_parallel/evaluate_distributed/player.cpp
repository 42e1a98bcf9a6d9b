// Plays evaluate_distributed: evaluates one model after the other on samples that the judge serves.
#include "grader/parts/05_data_parallel/evaluate_distributed/case.hpp"

#include "engine/train/evaluate.hpp"
#include "grader/play/lost_peer.hpp"
#include "grader/play/poison_device.hpp"

namespace lockstep::grader {
namespace {

Bytes evaluate(sim::PlayerCase& played, const EvaluateCase& c) {
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

}  // namespace

Bytes play(sim::PlayerCase& played) {
  const EvaluateCase c = decode_evaluate_case(played.input);
  if (!c.peer_dies) return evaluate(played, c);
  return play_with_a_lost_peer(played, [&](sim::PlayerCase& watched) { evaluate(watched, c); });
}

}  // namespace lockstep::grader
