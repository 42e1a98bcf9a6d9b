// Plays load_for_inference: one process loads a checkpoint of the judge's twice, and answers with
// each of the models.
#include "grader/parts/17_fault_tolerance/load_for_inference/case.hpp"

namespace lockstep::grader {

Bytes play(sim::PlayerCase& played) {
  const auto c = read_fields<InferenceCase>(played.input);
  const auto world = make_case_world(played);
  const ServedStorage storage(played.port);
  InferenceReport report;
  report.ending = ending_of<checkpoint::CheckpointError>([&] {
    for (int i = 0; i < 2; ++i) {
      const auto model = checkpoint::load_for_inference(storage, c.checkpoint, nn::spec_of(c.model),
                                                        world->device());
      report.logits.push_back(logits_of(*model, c.tokens, world->device()));
    }
  });
  world->require_intact();
  require_released(world->device(), 0);
  return fields_to_bytes(report);
}

}  // namespace lockstep::grader
