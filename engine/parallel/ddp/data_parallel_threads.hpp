// Data parallelism inside one process: one thread per device, as in torch.nn.DataParallel. One
// module is the master. In every step it is copied to all other devices, and their gradients are
// copied back. So device 0 alone sends and receives what a ring spreads over all devices.
//   N devices, P bytes of parameters, B samples of a batch
#pragma once

#include <span>

#include "engine/data/dataset.hpp"
#include "engine/nn/module.hpp"
#include "engine/strand/strand.hpp"

namespace lockstep::ddp {

// The devices of one process, and the only way to copy a tensor from one to another.
class LocalDevices {
 public:
  virtual ~LocalDevices() = default;
  virtual int size() const = 0;  // N
  // The elements of `tensor` in a new tensor on device `to`. Counts its bytes. Thread: any.
  virtual Tensor copy_to(const Tensor& tensor, int to) = 0;
};

// Forward and backward of one batch on all devices at once.
//   replicas  N modules of one architecture, replica d on device d. [0] is the master. The other
//             replicas may hold any values, and have no gradients
//   batch     on device 0: inputs [B, …] and labels [B], one for each sample
//   Ensures   device d computes the samples [d·c, (d+1)·c) of the batch, c = ⌈B/N⌉, cut at B, as
//             torch.chunk does. A device without samples copies and computes nothing;
//             the forward passes run at the same time, each on a strand of its own (one of them
//             can be the caller's), and so do the backward passes;
//             the gradients of the mean loss over all B labels are added to the master's, as if one
//             device had computed alone. The other replicas have none
//   Returns   that mean loss
//   Copies    with n devices that have samples: (n-1)·P from device 0 and (n-1)·P back to it,
//             besides inputs, outputs and the outputs' gradients; nothing between two other devices
//   Requires  B >= 1; a model whose outputs are [samples, classes]
//   Throws    what a strand threw, when all strands have ended; then gradients are undefined
//   Source    torch.nn.DataParallel: scatter, replicate, parallel_apply, gather
double data_parallel_threads(std::span<nn::Module* const> replicas, LocalDevices& devices,
                             Strands& strands, const data::Batch& batch);

}  // namespace lockstep::ddp
