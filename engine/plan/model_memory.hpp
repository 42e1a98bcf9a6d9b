// The memory that training takes on one device, in bytes, by kind. P is the number of parameters.
// All kinds but the last are a fixed number of bytes per parameter:
//
//                              weights  gradients  master  optimizer state        Adam in all
//   float32                       4         4         -    4 · numbers kept           16 P
//   bfloat16 with a master copy   2         2         4    4 · numbers kept           16 P
//   bfloat16 alone                2         2         -    4 · numbers kept           12 P
//
// An optimizer keeps some numbers per parameter between steps: SGD none, momentum one (the
// velocity), Adam two (both moments). All three recipes keep them in float32. A master copy is a
// second set of weights, in float32. The optimizer updates it, and the bfloat16 weights are rounded
// from it: in bfloat16's 8 significant bits, an update much smaller than its weight would be lost
// [MIX17 §3.1].
//
// Activations are the data that forward saves for backward. They depend on the batch and on what
// the layers save, and not on P.
//
// Left out: moments of the weights' type, as torch.optim.AdamW keeps them (8 P in bfloat16 alone),
// gradients kept in float32 beside bfloat16 weights (2 bytes more), buffers of the operations and
// of communication, fragmentation, the CUDA context.
//   Source  [ZERO20 §3.1] model states, [ZERO20 §3.2] activations
#pragma once

#include <cstdint>
#include <span>

namespace lockstep::plan {

enum class UpdateRule : std::uint8_t { sgd, momentum, adam };
enum class Precision : std::uint8_t { float32, bfloat16_with_master, bfloat16_alone };

struct Recipe {
  UpdateRule rule = UpdateRule::adam;
  Precision precision = Precision::float32;
};

// Bytes. A GB is 10^9 of them, a GiB 2^30.
struct MemoryReport {
  std::int64_t weights = 0;
  std::int64_t gradients = 0;
  std::int64_t master_weights = 0;
  std::int64_t optimizer_state = 0;
  std::int64_t activations = 0;
  std::int64_t total = 0;  // the sum of the five above

  bool operator==(const MemoryReport&) const = default;
};

// The memory of one training step. A part: defined in solutions/01_why_distribute.
//   saved_per_sample  for each layer, how many numbers it saves per sample until backward; they
//                     have the type of the weights
//   batch             samples of one step on this device
//   Throws            ContractError when an argument is negative, or when a number of bytes does
//                     not fit into 64 bits; it never returns one that wrapped around
MemoryReport model_memory(std::int64_t parameters, const Recipe& recipe,
                          std::span<const std::int64_t> saved_per_sample, std::int64_t batch);

}  // namespace lockstep::plan
