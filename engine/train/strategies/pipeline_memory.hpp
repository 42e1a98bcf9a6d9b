// Computes the memory of a pipeline's stages before any of them takes a step.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/train/strategies/pipeline_options.hpp"
#include "engine/train/strategies/unheard_group.hpp"
#include "engine/train/way_maker.hpp"

namespace lockstep::train {

struct StageMemory : MemoryPeaks {
  int in_flight = 0;  // the most micro-batches whose activations it holds; of chunks, where it has
                      // several
};

// Each stage carries out its list of the plan alone, on a device without numbers, and updates. What
// it needs to talk to others comes on top: messages that are on their way, and buckets of gradients
// that several pipelines average.
//   rows      samples of a batch; fewer than micro-batches: that many micro-batches of one sample
//   Returns   p, one for each stage
//   Throws    UsageError as check(options, model)
std::vector<StageMemory> memory_of_stages(const PipelineOptions& options, const Recipe& recipe,
                                          std::int64_t rows);

//   batches  the samples of each size of batch that the run has: a short one can need more memory
//            than a full one, where its plan is another (plan_of_batch)
//   Throws   UsageError with a line for each stage that does not fit, and the bytes that it misses
void check_memory(const PipelineOptions& options, const Recipe& recipe,
                  std::span<const std::int64_t> batches, const DeviceRoom& room);

}  // namespace lockstep::train
