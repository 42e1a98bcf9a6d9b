// The options of a pipeline, the plans that follow from them, and what they cannot be.
#pragma once

#include <string>

#include "engine/nn/model_spec.hpp"
#include "engine/parallel/ddp/assign_buckets.hpp"
#include "engine/parallel/pipeline/action.hpp"

namespace lockstep::train {

// The optimizer's state of a stage: all of it on each rank that has the stage, or a shard (ZeRO 1).
enum class StageState : std::uint8_t { whole, sharded };

struct PipelineOptions {
  int stages = 1;         // p
  int micro_batches = 1;  // m, of each batch
  int chunks = 1;         // v, of each stage
  pipeline::Schedule schedule = pipeline::Schedule::one_f_one_b;
  bool naive = false;  // m = 1 and v = 1, and run_split carries out a batch (naive_pass.hpp)
  ddp::BucketLimits limits{};  // of gradients that several pipelines average
  StageState state = StageState::whole;
  int pipelines = 1;  // D, among which a memory that is counted has the state sharded
};

// The plan for a batch of this many micro-batches. The last batch of an epoch may have fewer
// samples than there are micro-batches. If p then does not divide their number, the interleaved
// schedule cannot be used, and all forward passes come first, chunk after chunk.
pipeline::Plan plan_of_batch(const PipelineOptions& options, int micro_batches);
// The same of an evaluation: forward passes alone, chunk after chunk.
pipeline::Plan plan_of_evaluation(const PipelineOptions& options, int micro_batches);

// Throws, before the start, what each rank would throw.
//   Throws  UsageError when p does not divide the ranks, or when the schedule cannot have these
//           numbers
void check(const PipelineOptions& options, int ranks);
//   Throws  UsageError when the model has fewer units than the pipeline has parts
void check(const PipelineOptions& options, const nn::ModelSpec& model);

// A sentence for the start of a run whose p·v parts cannot have equally many layers: what the most
// costly part costs, in forward FLOPs, beside the mean. Empty where they can.
std::string uneven_parts(const PipelineOptions& options, const nn::ModelSpec& model);

}  // namespace lockstep::train
