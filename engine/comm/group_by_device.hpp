// A group with a backend for each kind of device, as PyTorch's "cpu:gloo,cuda:nccl": tensors of
// devices on the host travel through one group, those of devices whose memory the host cannot read
// (Numbers::away) through another. So a training run sums gradients where they are, and still
// agrees on numbers and files through the host.
//
//   collectives, messages   through the group of their tensors' device
//   allocate_buffer         by the group of the device
//   barriers, clock         the host's: a barrier says that the ranks came, and not that their
//                           devices are done
//   split                   both, to one group of two backends again
//   traffic                 the sum of both
//
// Invariants
//   1. Both groups have the same ranks in the same order.
//   2. All ranks bring tensors of the same kind of device to one collective, and so do the two ends
//      of a message. Otherwise the ranks wait in different groups, until the deadline; of a
//      collective, a Companion finds it at once.
//   3. All ranks call the collectives of both kinds in one order. They may end in another: an
//      asynchronous operation of one kind may end before an earlier one of the other.
//   Source    PyTorch's torch.distributed.init_process_group, `backend`
#pragma once

#include <memory>

#include "engine/comm/process_group.hpp"

namespace lockstep::comm {

// A group for devices that are away may be one as well. It then carries out the collectives of the
// group that it stands beside, knows the calls of both in their order, and fails together with it.
class Companion {
 public:
  virtual ~Companion() = default;
  // Comes before all calls; `host` outlives this one.
  virtual void accompany(ProcessGroup& host) = 0;
  // As of host, with its checked arguments.
  virtual Work start_on_host(const Collective& collective, const Where& where) = 0;
  virtual void run_on_host(const Collective& collective, const Where& where) = 0;
};

// host   carries tensors of devices on the host, and of those without numbers
// away   carries tensors of devices that are away; its rank and size are host's. May be a Companion
std::unique_ptr<ProcessGroup> make_group_by_device(std::unique_ptr<ProcessGroup> host,
                                                   std::unique_ptr<ProcessGroup> away);

}  // namespace lockstep::comm
