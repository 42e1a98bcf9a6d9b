// Naive model parallelism on the stages of a pipeline: the batch passes through whole, by run_split
// of lesson 13, so one stage computes at a time.
#pragma once

#include "engine/comm/process_group.hpp"
#include "engine/parallel/pipeline/run_stage.hpp"

namespace lockstep::train {

// As run_stage carries out a plan of one micro-batch: each stage is a layer, on a device of its
// own.
//   mine    has one chunk
//   weight  of the batch's loss in the step
pipeline::StageResult run_naive(comm::ProcessGroup& stages, pipeline::Stage& mine, double weight);

}  // namespace lockstep::train
