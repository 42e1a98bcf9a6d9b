// exercise: data_parallel_step
// verdict: wrong answer
// says: what to check
// Frees the parameters on one rank: its result is shorter than the others'.
#include "engine/parallel/data_parallel/data_parallel_step.hpp"

namespace lockstep::data_parallel {

double data_parallel_step(comm::ProcessGroup& group, nn::Module& model, optim::Optimizer&,
                          const data::Batch&, double) {
  const auto parameters = model.parameters();
  if (group.rank() == 1) parameters.back()->value = parameters.back()->value.narrow(0, 1);
  return 0;
}

}  // namespace lockstep::data_parallel
