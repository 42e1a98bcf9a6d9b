// Task: one training step of a replica. Zero the old gradients, run the model forward on this
// rank's samples and backward from the mean cross-entropy loss, average the gradients over the
// group, bound their norm, and update. Ten such steps on N ranks must lead where one device leads
// that receives all samples as one batch, for every optimizer: think about which pieces must see
// the averaged gradient. Returns this rank's loss before the update.
// The contract stands in engine/parallel/data_parallel/data_parallel_step.hpp.
#include "engine/parallel/data_parallel/data_parallel_step.hpp"

#include "engine/base/error.hpp"
#include "engine/parallel/data_parallel/average_gradients.hpp"

namespace lockstep::data_parallel {

double data_parallel_step(comm::ProcessGroup& group, nn::Module& model, optim::Optimizer& optimizer,
                          const data::Batch& mine, double clip_norm) {
  // >>> your code
  // Avoids warnings about parameters that are not used yet.
  (void)group, (void)model, (void)optimizer, (void)mine, (void)clip_norm;
  throw NotImplemented("data_parallel_step");
  // <<< your code
}

}  // namespace lockstep::data_parallel
