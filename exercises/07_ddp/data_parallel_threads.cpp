// Task: one batch on several devices of one process, as torch.nn.DataParallel does it. Copy the
// master's parameters to the other devices, cut the batch into chunks, run the forward passes on
// one strand per device, bring the outputs together on device 0, and compute the loss there. Then
// run the backward passes, one strand per device again, and sum the gradients into the master's.
// The contract is in engine/parallel/ddp/data_parallel_threads.hpp; Tape::backward with the
// gradient of an output, and Tape::gradient_of, are in engine/autograd/tape.hpp.
#include "engine/parallel/ddp/data_parallel_threads.hpp"

#include <algorithm>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <vector>

#include "engine/base/error.hpp"

namespace lockstep::ddp {
namespace {

// >>> your code
// <<< your code

}  // namespace

double data_parallel_threads(std::span<nn::Module* const> replicas, LocalDevices& devices,
                             Strands& strands, const data::Batch& batch) {
  // >>> your code
  // Avoids warnings about parameters that are not used yet.
  (void)replicas, (void)devices, (void)strands, (void)batch;
  throw NotImplemented("data_parallel_threads");
  // <<< your code
}

}  // namespace lockstep::ddp
