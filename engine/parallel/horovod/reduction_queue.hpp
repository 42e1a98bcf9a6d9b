// The background strand of Horovod: gradients are handed to it as they become ready, in any order,
// and it reduces them while backward goes on. It works in cycles:
//
//   a. It sleeps until a gradient is handed over, and until cycle_s have passed since the last
//      cycle began. Meanwhile, more gradients become ready, and can travel together. A rank that
//      waits for its gradients has handed over all of them, so its strand goes on at once.
//   b. It negotiates: which gradients do all ranks have? (negotiate.hpp)
//   c. It fuses these (tensor_fusion.hpp), and sums each group over the ranks: in a buffer, unless
//      its gradients lie side by side already (gradient_memory.hpp).
//
// A strand begins a cycle only if its rank has handed something over since the last one, or waits.
// Horovod begins one every millisecond, whether or not there is anything to do. Here, a round of
// negotiation is a collective that waits for the slowest rank. So nothing is lost by waiting in the
// collective, and a rank that computes is not disturbed. This is also why a simulated run ends: no
// clock has to tick.
//
// Invariants
//   1. Only the strand calls collectives of its group, which is split off for it, so they cannot
//      interleave with those of the rank's main strand.
//   2. Rounds and reductions are in the same order on every rank, since each reduction follows from
//      the responses of a round, which are the same everywhere.
//   3. No other code touches a tensor between submit() and the end of wait().
//   4. After the first failure nothing more is reduced, and every submit() and wait() throws it.
//
// Source: horovod/common/operations.cc, RunLoopOnce [HVDSRC]
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "engine/autograd/tape.hpp"
#include "engine/collectives/bucket.hpp"
#include "engine/collectives/communication.hpp"
#include "engine/comm/process_group.hpp"
#include "engine/strand/strand.hpp"

namespace lockstep::horovod {

struct QueueOptions {
  std::int64_t threshold_bytes = std::int64_t{128} << 20;  // of fuse(); Horovod's 128 MiB
  double cycle_s = 1e-3;                                   // Horovod's 1 ms
  double stall_limit_s = 60;                               // of negotiate()
  double prescale = 1;   // each rank's tensors are multiplied by it before the sum,
  double postscale = 1;  // and the sum by this
  // Instead of the plain sum of a fused group; must outlive the queue. Called by the strand.
  collectives::CommHook* hook = nullptr;
  // The parameters whose grads will be handed over, under their names; they may be given places
  // (gradient_memory.hpp). A handle to an old grad then sees the new one.
  std::span<Parameter* const> parameters = {};
};

// The work of one rank's strand since the queue was made.
struct QueueFigures {
  std::int64_t rounds = 0;                  // of negotiation
  std::int64_t reductions = 0;              // fused groups
  std::int64_t tensors = 0;                 // in them
  std::int64_t bytes_sent = 0;              // payload, all of it
  std::int64_t negotiation_bytes_sent = 0;  // of these
  // Total: rounds and reductions; exposed: of these, while the rank stood in wait().
  collectives::Communication communication{};
};

struct QueueState;

// Thread: the rank's main strand calls.
class ReductionQueue {
 public:
  // Every rank of the group calls it, with equal options.
  //   group, strands  must outlive the queue. One rank has nothing to reduce, and needs no strands
  //   Comm    a split; on one rank nothing, and the strand is not started
  ReductionQueue(comm::ProcessGroup& group, Strands* strands, const QueueOptions& options);
  // Communicates nothing. What is still in flight fails on the other ranks, soon and with a reason.
  // The destructor tells the strand to give up, and waits for it.
  ~ReductionQueue();
  ReductionQueue(const ReductionQueue&) = delete;
  ReductionQueue& operator=(const ReductionQueue&) = delete;

  // Hands a tensor over, to be replaced by its sum over the ranks. Does not wait.
  //   name    the same on every rank; unique among the tensors in flight
  //   Throws  the error that made the strand fail
  void submit(const std::string& name, const Tensor& tensor);

  // Waits until everything that was handed over is reduced. Call it when this rank will hand over
  // nothing more.
  //   Ensures  the sums have the same bits on every rank
  //   Throws   Error on every rank, with the names of gradient and ranks, when a gradient was
  //            refused or has stalled; CommError with the names of what this rank waits for, when a
  //            rank is lost or does not come
  void wait();

  // Since the last wait(), something was handed over.
  bool busy() const;
  QueueFigures figures() const;

 private:
  void wait_inside();

  comm::ProcessGroup& group_;
  std::shared_ptr<QueueState> state_;  // shared with the strand, which an error may leave behind
  std::unique_ptr<Strand> strand_;
};

}  // namespace lockstep::horovod
