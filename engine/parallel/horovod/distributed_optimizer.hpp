// Horovod's DistributedOptimizer: data parallelism by wrapping the optimizer, not the model. Each
// parameter gets a hook that hands its gradient to a background strand as soon as it is final, and
// step() waits until all of them are reduced:
//
//     auto optimizer = horovod::make_distributed_optimizer(std::move(sgd), group, options);
//     horovod::broadcast_optimizer_state(group, *optimizer, 0);  // and the parameters
//     optimizer->zero_grad();
//     tape.backward(loss);                                        // gradients travel
//     optimizer->step();                                          // waits, then updates
//
// To change gradients between reduction and update, such as to clip them:
//
//     optimizer->synchronize();
//     optim::clip_grad_norm(optimizer->parameters(), 1);
//     const auto guard = optimizer->skip_synchronize();
//     optimizer->step();
//
// Which gradients travel together, and when, is decided while they become ready
// (reduction_queue.hpp). So ranks may differ in the order of their gradients.
//
// Left out: Adasum, sparse gradients, groups that the caller makes, process sets, compression.
// Source: horovod/torch/optimizer.py [HVDSRC]
#pragma once

#include <cstdint>
#include <memory>

#include "engine/optim/optimizer.hpp"
#include "engine/parallel/horovod/reduction_queue.hpp"

namespace lockstep::horovod {

// How the ranks' gradients become one.
enum class Combine : std::uint8_t { average, sum, adasum };

struct HorovodOptions {
  Combine combine = Combine::average;
  // f of an average: gradients are multiplied by 1/f before the sum and by f/N after it. With f = 1
  // the sum is divided; DDP divides first, so its last bits can differ.
  double gradient_predivide_factor = 1;
  // K: the number of backward passes that add up on each rank before their sum is reduced. The sum
  // is not divided by K: scale each loss by 1/K for the mean.
  std::int64_t backward_passes_per_step = 1;
  std::int64_t fusion_threshold_bytes = QueueOptions{}.threshold_bytes;  // 0: no fusion
  double cycle_s = QueueOptions{}.cycle_s;
  double stall_limit_s = QueueOptions{}.stall_limit_s;
  Strands* strands = nullptr;             // of this rank; needed on more than one rank
  collectives::CommHook* hook = nullptr;  // see QueueOptions
};

class DistributedOptimizer : public optim::Optimizer {
 public:
  // Waits until every parameter's grad is reduced. A grad that no hook has handed over is handed
  // over now, as it is: after fewer than K passes, or an older grad of a parameter that was not
  // used. A parameter without a grad hands over zeros.
  //   Ensures  grads are the ranks' average or sum, with the same bits on every rank
  //   Throws   ContractError after another synchronize(), with neither a backward pass nor a step()
  //            in between: the grads are reduced already. Otherwise as ReductionQueue::wait
  virtual void synchronize() = 0;

  // While it lives, step() does not synchronize. It then throws ContractError after a backward
  // pass, until its gradients are reduced.
  class [[nodiscard]] SkipSynchronize {
   public:
    explicit SkipSynchronize(DistributedOptimizer& optimizer) : optimizer_(optimizer) {
      ++optimizer_.skips_;
    }
    ~SkipSynchronize() { --optimizer_.skips_; }
    SkipSynchronize(const SkipSynchronize&) = delete;
    SkipSynchronize& operator=(const SkipSynchronize&) = delete;

   private:
    DistributedOptimizer& optimizer_;
  };
  SkipSynchronize skip_synchronize() { return SkipSynchronize(*this); }

  // K, from the next pass on.
  //   Throws  ContractError after a backward pass, until its gradients are reduced
  virtual void set_backward_passes_per_step(std::int64_t passes) = 0;

  virtual QueueFigures figures() const = 0;

 protected:
  int skips_ = 0;  // SkipSynchronize guards that live
};

// Wraps this rank's optimizer. Every rank of the group calls it, with the same options and with
// parameters of the same names, in any order: ranks agree on gradients by name.
//   optimizer  its parameters must outlive the result, which registers a hook on each
//   group      must outlive the result. If its ranks share memory, each parameter gets a place for
//              its gradient (Parameter::grad_place), so a handle to an old grad sees the new one
//   In backward()  throws ContractError when a parameter's gradient comes more than K times before
//              step(); CommError when the strand has failed
//   zero_grad  throws ContractError after a backward pass, until step() or synchronize() has
//              reduced its gradients: they may be in flight
//   step       synchronizes, unless it is told to skip that, and updates. Throws as synchronize().
//              A second step() reduces the same grads once more
//   load_state throws as zero_grad
//   Throws     UsageError for Adasum; ContractError for parameters with equal names, K below 1, and
//              a predivide factor with a sum
std::unique_ptr<DistributedOptimizer> make_distributed_optimizer(
    std::unique_ptr<optim::Optimizer> optimizer, comm::ProcessGroup& group,
    const HorovodOptions& options);

}  // namespace lockstep::horovod
