// Data parallelism inside one process: one thread per device, as torch.nn.DataParallel has it. One
// module is the master. In every step it is copied to all other devices, and their gradients are
// copied back, so device 0 sends and receives what a ring spreads over all.
//   N devices, P bytes of parameters, B samples of a batch
#pragma once

#include <span>

#include "engine/data/dataset.hpp"
#include "engine/nn/module.hpp"
#include "engine/strand/strand.hpp"

namespace lockstep::ddp {

// The devices of one process, and the only way between them.
class LocalDevices {
 public:
  virtual ~LocalDevices() = default;
  virtual int size() const = 0;  // N
  // The elements of `tensor` in a new tensor on device `to`. Counts its bytes. Thread: any.
  virtual Tensor copy_to(const Tensor& tensor, int to) = 0;
};

// Forward and backward of one batch on all devices at once.
//   replicas  N modules of one architecture, replica d on device d. [0] is the master; the numbers
//             of the others may be anything. None of the others has gradients
//   batch     on device 0: inputs [B, …] and labels [B], one for each sample
//   Ensures   device d computes the samples [d·c, (d+1)·c) of the batch, c = ⌈B/N⌉, as long as
//             there are any: torch.chunk. A device without samples copies and computes nothing;
//             the forward passes run at the same time, each on a strand of its own (one of them
//             can be the caller's), and so do the backward passes;
//             the master's gradients are those of the mean loss over all B labels, as if it had
//             computed alone; they are added to what is there. The other replicas have none
//   Returns   that mean loss
//   Copies    with n devices that have samples: (n-1)·P from device 0 and (n-1)·P back to it, and
//             inputs, outputs and what belongs to them; nothing between two other devices
//   Requires  B >= 1; a model whose outputs are [samples, classes]
//   Throws    what a strand threw, when all strands have ended; gradients are undefined then
//   Source    torch.nn.DataParallel: scatter, replicate, parallel_apply, gather
double data_parallel_threads(std::span<nn::Module* const> replicas, LocalDevices& devices,
                             Strands& strands, const data::Batch& batch);

}  // namespace lockstep::ddp
