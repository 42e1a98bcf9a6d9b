// exercise: data_parallel_step
// verdict: compile error
// says: which the lab already defines
// Defines average_gradients too, which the player has already.
#include "engine/parallel/data_parallel/data_parallel_step.hpp"

#include "engine/parallel/data_parallel/average_gradients.hpp"

namespace lockstep::data_parallel {

void average_gradients(comm::ProcessGroup&, std::span<Parameter* const>) {}

double data_parallel_step(comm::ProcessGroup&, nn::Module&, optim::Optimizer&, const data::Batch&,
                          double) {
  return 0;
}

}  // namespace lockstep::data_parallel
