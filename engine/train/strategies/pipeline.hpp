// Pipeline parallelism: the model's units are dealt to p stages, and the micro-batches of a batch
// pass through them, in the order of a schedule. Ranks beyond p are D more such pipelines, which
// average their gradients. A stage is a place on the axis pp, and a pipeline one on dp.
#pragma once

#include <memory>

#include "engine/train/strategies/pipeline_options.hpp"
#include "engine/train/strategy.hpp"

namespace lockstep::train {

// As the recipe says, on `device`; group and device must outlive the strategy.
//   ranks      with as many on the axis pp as there are stages
//   clip_norm  bound on the global norm of the averaged gradient, over all stages; 0: none
//   Throws     UsageError as check, and when the model has fewer units than the pipeline has parts;
//              CheckpointError when the recipe's first weights are of another model
std::unique_ptr<Strategy> make_pipeline(TrainingRanks ranks, Device& device, const Recipe& recipe,
                                        double clip_norm, const PipelineOptions& options);

}  // namespace lockstep::train
