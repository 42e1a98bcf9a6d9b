// Task: decide which samples each rank reads in one epoch. Every rank calls this function with its
// own rank and otherwise equal options, and no rank sends a message. So the same seed and epoch
// must give all ranks the same order. Together the ranks read every sample. Each reads equally
// many, because a rank with one batch less would leave the others waiting in an all-reduce. `tail`
// says what to do when the ranks do not divide the length. The result must equal PyTorch's
// DistributedSampler, index for index. The contract is in engine/data/distributed_sampler.hpp, and
// random_permutation (engine/base/random.hpp) is torch.randperm.
#include "engine/data/distributed_sampler.hpp"

#include <numeric>

#include "engine/base/error.hpp"
#include "engine/base/random.hpp"

namespace lockstep::data {

std::vector<std::int64_t> distributed_indices(const SamplerOptions& options) {
  LOCKSTEP_CHECK(options.ranks >= 1 && options.rank >= 0 && options.rank < options.ranks,
                 "distributed_indices: rank ", options.rank, " of ", options.ranks,
                 " ranks; ranks count from 0");
  LOCKSTEP_CHECK(options.length >= 0 && options.epoch >= 0, "distributed_indices: length ",
                 options.length, ", epoch ", options.epoch, "; neither can be negative");
  // >>> your code
  // Avoids warnings about parameters that are not used yet.
  (void)options;
  throw NotImplemented("distributed_sampler");
  // <<< your code
}

}  // namespace lockstep::data
