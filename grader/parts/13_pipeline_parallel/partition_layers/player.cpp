// Plays partition_layers: the boundaries for each list of costs.
#include "engine/parallel/pipeline/partition_layers.hpp"

#include "grader/parts/13_pipeline_parallel/partition_layers/case.hpp"
#include "grader/play/function_play.hpp"

namespace lockstep::grader {

Bytes play(sim::PlayerCase& played) {
  return answer_or_refuse_each<PartitionQuestion>(played, [](const PartitionQuestion& question) {
    return pipeline::partition(question.cost, question.stages);
  });
}

}  // namespace lockstep::grader
