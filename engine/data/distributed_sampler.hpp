// Which samples one rank sees in one epoch. A decision, so a pure function: it returns indices and
// reads no data. Equal, index for index, to torch.utils.data.distributed.DistributedSampler.
#pragma once

#include <cstdint>
#include <vector>

namespace lockstep::data {

enum class Order : std::uint8_t { shuffled, sequential };
// What happens when ranks does not divide length: repeat the head of the epoch's order, or drop.
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
//   Ensures   every rank gets the same number: ⌈length/ranks⌉ (pad), ⌊length/ranks⌋ (drop)
//             order: random_permutation(length, seed + epoch) or 0, 1, 2, …; then padded with its
//             own head (repeated as often as needed) or cut; then rank, rank + ranks, …
//   Throws    ContractError when rank is outside [0, ranks)
//   Source    PyTorch torch/utils/data/distributed.py
std::vector<std::int64_t> distributed_indices(const SamplerOptions& options);

}  // namespace lockstep::data
