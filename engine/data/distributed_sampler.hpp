// Which samples one rank reads in one epoch. A pure function: it returns indices and reads no data.
// It equals torch.utils.data.distributed.DistributedSampler, index for index.
#pragma once

#include <cstdint>
#include <vector>

namespace lockstep::data {

enum class Order : std::uint8_t { shuffled, sequential };
// If the number of ranks does not divide the length: repeat the head of the order, or drop its end.
enum class Tail : std::uint8_t { pad, drop };

struct SamplerOptions {
  std::int64_t length = 0;  // samples in the dataset
  int rank = 0;
  int ranks = 1;
  std::uint64_t seed = 0;
  int epoch = 0;
  Order order = Order::shuffled;
  Tail tail = Tail::pad;
};

// The indices of rank `rank`, in the order it reads them.
//   Ensures   every rank gets equally many: ⌈length/ranks⌉ (pad), ⌊length/ranks⌋ (drop);
//             the order is random_permutation(length, seed + epoch) or 0, 1, 2, …; it is padded
//             with its own head (several times if needed) or truncated; then positions rank,
//             rank + ranks, …
//   Throws    ContractError when rank is outside [0, ranks)
//   Source    PyTorch torch/utils/data/distributed.py
std::vector<std::int64_t> distributed_indices(const SamplerOptions& options);

}  // namespace lockstep::data
