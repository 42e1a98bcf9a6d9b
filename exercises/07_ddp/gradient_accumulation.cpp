// Task: one optimizer step on k micro-batches. Their gradients add up on this rank, and travel
// once, with the last micro-batch. The step must be that of one device which receives all
// micro-batches of all ranks as one batch: a micro-batch counts by its share of this rank's labels.
// Before each backward, report the micro-batch's share of the loss with model.report, so that the
// training loop can print it.
// The contract is in engine/parallel/ddp/accumulate_step.hpp; no_sync is in
// engine/parallel/ddp/ddp.hpp.
#include "engine/parallel/ddp/accumulate_step.hpp"

#include <optional>

#include "engine/base/error.hpp"

namespace lockstep::ddp {

void accumulate_step(Ddp& model, optim::Optimizer& optimizer,
                     std::span<const data::Batch> micro_batches) {
  // >>> your code
  // Avoids warnings about parameters that are not used yet.
  (void)model, (void)optimizer, (void)micro_batches;
  throw NotImplemented("gradient_accumulation");
  // <<< your code
}

}  // namespace lockstep::ddp
