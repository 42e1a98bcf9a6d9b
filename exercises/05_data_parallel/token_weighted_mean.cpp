// Task: the mean over all samples when the ranks hold different numbers of them, as with texts of
// different lengths or a short last batch. Each rank passes the sum of its losses, the number of
// positions in that sum, and the gradient of the sum. Compute what one device with all samples
// would have: return the mean loss, and leave its gradient in each grad. A rank may have nothing to
// count, and so may all of them.
// The contract stands in engine/parallel/data_parallel/token_weighted_mean.hpp.
#include "engine/parallel/data_parallel/token_weighted_mean.hpp"

#include <array>

#include "engine/base/error.hpp"

namespace lockstep::data_parallel {

double weighted_average(comm::ProcessGroup& group, std::span<Parameter* const> parameters,
                        const LossSum& mine) {
  // >>> your code
  // Avoids warnings about parameters that are not used yet.
  (void)group, (void)parameters, (void)mine;
  throw NotImplemented("token_weighted_mean");
  // <<< your code
}

}  // namespace lockstep::data_parallel
