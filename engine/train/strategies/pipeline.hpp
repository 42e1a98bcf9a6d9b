// Pipeline parallelism: the model's units are dealt to p stages, and the micro-batches of a batch
// pass through them, in the order of a schedule. Ranks beyond p are D more such pipelines, which
// average their gradients: rank s·D + d is stage s of pipeline d, so that neighbours of one stage
// are neighbours in rank, too.
#pragma once

#include <memory>
#include <string>

#include "engine/parallel/ddp/assign_buckets.hpp"
#include "engine/parallel/pipeline/action.hpp"
#include "engine/train/strategy.hpp"

namespace lockstep::train {

struct PipelineOptions {
  int stages = 1;         // p
  int micro_batches = 1;  // m, of each batch
  int chunks = 1;         // v, of each stage
  pipeline::Schedule schedule = pipeline::Schedule::one_f_one_b;
  ddp::BucketLimits limits{};  // of gradients that several pipelines average
};

// What the stages do with a batch in as many micro-batches. The last batch of an epoch may have
// fewer samples than there are micro-batches. Where that leaves the interleaved schedule a number
// that p does not divide, all forward passes come first, chunk after chunk.
pipeline::Plan plan_of_batch(const PipelineOptions& options, int micro_batches);

// What each rank would complain of.
//   Throws  UsageError when p does not divide the ranks, or when the schedule cannot have these
//           numbers
void check(const PipelineOptions& options, int ranks);
//   Throws  UsageError when the model has fewer units than the pipeline has parts
void check(const PipelineOptions& options, const nn::ModelSpec& model);

// A sentence for the start of a run whose p·v parts cannot have equally many layers: what the most
// costly part costs, in forward FLOPs, beside the mean. Empty where they can.
std::string uneven_parts(const PipelineOptions& options, const nn::ModelSpec& model);

// As the recipe says, on `device`; group and device must outlive the strategy.
//   clip_norm  bound on the global norm of the averaged gradient, over all stages; 0: none
//   Throws     UsageError as check, and when the model has fewer units than the pipeline has parts;
//              CheckpointError when the recipe's first weights are of another model
std::unique_ptr<Strategy> make_pipeline(comm::ProcessGroup& group, Device& device,
                                        const Recipe& recipe, double clip_norm,
                                        const PipelineOptions& options);

}  // namespace lockstep::train
