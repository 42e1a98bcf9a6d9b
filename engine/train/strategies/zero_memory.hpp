// Computes the memory of a rank with sharded state before it takes a step.
#pragma once

#include <cstdint>
#include <span>

#include "engine/train/strategies/unheard_group.hpp"
#include "engine/train/strategies/zero.hpp"
#include "engine/train/way_maker.hpp"

namespace lockstep::train {

struct ShardedMemory : MemoryPeaks {
  MemoryPeaks host{};  // where state is offloaded
};

// Rank 0, whose shards no padding shortens, makes its units and takes two steps of `batches`
// batches alone, on a device without numbers.
//   rows  samples of a batch
ShardedMemory memory_of_rank(const ZeroOptions& options, const Recipe& recipe, int ranks,
                             std::int64_t rows, std::int64_t batches);

// The bytes that a rank copies in a step of `batches` batches, where it offloads state.
HostTraffic copies_of_step(const ZeroOptions& options, const nn::ModelSpec& model, int ranks,
                           std::int64_t batches);

//   sizes   the samples of each size of batch that the run has
//   Throws  UsageError with the bytes that are missing, by kind, on the device or on its host; of a
//           host with the number of ranks whose shares would suffice
void check_memory(const ZeroOptions& options, const Recipe& recipe, int ranks,
                  std::span<const std::int64_t> sizes, std::int64_t batches,
                  const DeviceRoom& room);

}  // namespace lockstep::train
