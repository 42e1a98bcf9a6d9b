// Task: the mean over all samples when the ranks hold different numbers of them, as they do with
// texts of different lengths or a short last batch. Each rank brings the sum of its losses, how
// many positions that sum is over, and the gradient of the sum. Make of it what one device would
// have had that held them all: return the mean loss, and leave in each grad the gradient of it. A
// rank may have nothing to count, and so may all of them.
// The contract stands in engine/parallel/data_parallel/token_weighted_mean.hpp.
#include "engine/parallel/data_parallel/token_weighted_mean.hpp"

#include <array>

#include "engine/base/error.hpp"

namespace lockstep::data_parallel {

double weighted_average(comm::ProcessGroup& group, std::span<Parameter* const> parameters,
                        const LossSum& mine) {
  // >>> your code
  // Only keeps the compiler from warning of parameters not used yet.
  (void)group, (void)parameters, (void)mine;
  throw NotImplemented("token_weighted_mean");
  // <<< your code
}

}  // namespace lockstep::data_parallel
