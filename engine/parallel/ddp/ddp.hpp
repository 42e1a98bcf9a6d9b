// Distributed data parallel: a module whose gradients are averaged over a group while backward is
// still running. Wrap a replica on every rank, then train it as on one device:
//
//     ddp::Ddp model(replica, group);
//     optimizer.zero_grad();
//     Tape tape(GradMode::record);
//     const Value loss = …(tape, model.forward(tape, input));
//     tape.backward(loss);               // grads are the mean over the group when it returns
//     optimizer.step();
//
// A pass: where its steps are decided, and what they send
//   a. forward, when it records and is not under no_sync: buffers become rank 0's.
//   b. backward begins: a small all-reduce starts, which tells which rank lacks which gradient.
//   c. backward: gradients enter their buckets, buckets are reduced one by one (reducer.hpp).
//   d. backward ends: waits for the rest.
//
// In the first pass, one bucket has everything, because the order of gradients is not known yet. At
// its end rank 0 tells the others the order that it saw, and the next forward pass that records
// plans the buckets anew from it. With Unused::reduce, the buckets are planned from the order of
// registration, and stay. Unused::fixed is PyTorch's static_graph: later passes use what the first
// pass uses. So the ranks need not tell each other, and buckets follow the order seen.
//
// Gradients lie in the buckets (reducer.hpp) and are held once. One exception: if grads exist when
// the buckets are planned anew (so not after zero_grad), the old buckets live until the grads have
// moved.
//
// Ranks whose inputs end early contribute zeros (shadow; join.hpp has the rest).
//
// Left out: a module that is used by several threads.
// Source: [DDP20] §3.2, §4; PyTorch's DistributedDataParallel. Here a pass belongs to its tape, so
// that forward passes may be made and dropped. All ranks report a missing gradient in the pass that
// lacks it; PyTorch reports it in the next pass, or waits.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/collectives/communication.hpp"
#include "engine/comm/process_group.hpp"
#include "engine/nn/module.hpp"
#include "engine/parallel/ddp/assign_buckets.hpp"
#include "engine/parallel/ddp/reducer.hpp"
#include "engine/parallel/ddp/unused_parameters.hpp"

namespace lockstep::ddp {

// A parameter that gets no gradient from a loss is an error, is allowed, or is allowed if it is the
// same in every pass.
enum class Unused : std::uint8_t { refuse, reduce, fixed };
// `broadcast`: buffers become rank 0's at each forward pass.
enum class Buffers : std::uint8_t { broadcast, local };
// `even`: all ranks make the same passes. `uneven`: some may shadow the passes of others.
enum class Inputs : std::uint8_t { even, uneven };

// Calls into the loop at the seams of a step, on this rank alone: what takes the passes of a step
// (accumulate_step, step_with_join) need not know of them. They must outlive the Ddp.
struct StepHooks {
  std::function<void(const Value& input)> before_forward;  // of each pass, also one that sends none
  std::function<void()> on_backward;                       // backward of a recorded pass begins
  // The backward that sends has ended: the gradients are averaged, and the update is next. Not
  // called on a rank that shadows.
  std::function<void()> before_update;
};

struct Options {
  BucketLimits limits;
  Unused unused = Unused::refuse;
  Buffers buffers = Buffers::broadcast;
  Inputs inputs = Inputs::even;
  // Replaces the sum of gradients that were multiplied by 1/N; must outlive the Ddp.
  collectives::CommHook* hook = nullptr;
  StepHooks steps{};
};

class Ddp final : public nn::Module {
 public:
  // Wraps this rank's replica. Every rank of the group calls it, with equal options.
  //   module, group  must outlive the Ddp, and the Ddp the backward passes of the tapes it armed;
  //                  the parameters stay the module's
  //   Ensures  parameters and buffers are rank 0's
  //   Comm     replicas::make_equal: a check of names, dtypes and shapes, and the part
  //            broadcast_parameters
  //   Throws   ContractError, on every rank, naming the first parameter that differs; CommError
  Ddp(nn::Module& module, comm::ProcessGroup& group, const Options& options = {});
  ~Ddp() override;  // communicates nothing; the module's hooks are as before
  Ddp(const Ddp&) = delete;
  Ddp& operator=(const Ddp&) = delete;

  // The module's. A pass that records, and is not made under no_sync, arms its tape: backward() of
  // that tape ends with every parameter's grad = mean over the group of what the ranks' grads would
  // have been, bit for bit the same on every rank. Grads from earlier passes are averaged, too.
  //   Requires  every rank makes the same passes, in the same order
  //   Throws    in backward, on every rank: Error naming parameter and rank when a parameter got no
  //             gradient (Unused::refuse), or is used although it was unused in the first armed
  //             pass, or the other way round (Unused::fixed); CommError. Gradients are then
  //             undefined
  //   Unused::reduce, Unused::fixed  a parameter that some ranks used gets the sum of their
  //             gradients times 1/N; a parameter that no rank used keeps its grad, or none
  Value forward(Tape& tape, const Value& input) override;
  void prepare(const nn::Occasion& occasion) override { module_.prepare(occasion); }
  std::vector<Parameter*> parameters() override { return module_.parameters(); }
  std::vector<nn::Buffer*> buffers() override { return module_.buffers(); }

  // While the guard lives, forward passes do not arm their tapes: gradients add up on each rank
  // alone, and travel with the next pass outside. What counts is where forward is called, not
  // backward. Guards may be nested.
  class [[nodiscard]] NoSync {
   public:
    explicit NoSync(Ddp& ddp) : ddp_(ddp) { ++ddp_.unsynced_; }
    ~NoSync() { --ddp_.unsynced_; }
    NoSync(const NoSync&) = delete;
    NoSync& operator=(const NoSync&) = delete;

   private:
    Ddp& ddp_;
  };
  NoSync no_sync() { return NoSync(*this); }

  // Takes part in all collectives of a pass for which other ranks have inputs and this rank has
  // none, with gradients of zeros and a loss of 0. Existing grads are replaced by the pass's
  // result.
  //   Requires  Inputs::uneven, not Unused::fixed; the ranks that do have inputs report a loss in
  //             this pass. Buffers are then those of the largest such rank; to find it takes 8 more
  //             bytes
  //   Throws    as a pass
  void shadow();
  // From the next pass on, the sum of gradients is divided by `ranks`, not by the group's size.
  // Every rank calls it, with the same number. A new number allocates the buckets anew.
  void divide_by(int ranks);

  // This rank's loss of a step, or a part of it, before its backward. Parts add up until an armed
  // backward begins, whose small all-reduce carries the sum. So a loop can print the loss without
  // waiting once more.
  //   loss  one element. If the host would have to wait for the device to read it, it stays there
  //         until mean_loss
  void report(const Tensor& loss);
  // The mean over the group of what was reported and sent since the last call, with the same bits
  // on every rank (a rank that shadows counts with 0); nan if the device has no numbers. Every rank
  // calls it, after the update: a loss that stayed on the device is read and reduced now.
  //   Throws  ContractError when nothing was reported; CommError
  double mean_loss();

  const collectives::BucketPlan& plan() const { return plan_; }
  // The communication of the last armed pass (communication.hpp).
  const collectives::Communication& communication() const { return communication_; }

 private:
  struct OnReady;                                      // the hook that each parameter gets
  enum class Part : std::uint8_t { trains, shadows };  // of this rank in a pass
  void arm(Tape& tape);
  void spread_buffers(Part mine);
  void build(collectives::BucketPlan plan);
  bool averages_within() const;
  void agree_on_order();
  void build_in_ready_order();
  void begin_pass(std::span<Parameter* const> reached);
  void on_ready(std::size_t index);
  void end_pass();
  void look_for_changes(std::span<const std::uint8_t> used);
  void start_status();
  void keep_what_none_uses(std::span<const double> numbers);
  struct Found;
  Found first_of_ranks(const std::vector<std::size_t>& mine_found);
  [[noreturn]] void throw_lacking();
  [[noreturn]] void throw_changed();

  nn::Module& module_;
  comm::ProcessGroup& group_;
  Options options_;
  CpuDevice device_;  // of words between ranks; the module's own may have no numbers
  std::vector<Parameter*> parameters_;
  collectives::BucketPlan plan_;
  collectives::Communication communication_;
  std::unique_ptr<collectives::CommHook> sum_, average_, timed_;
  std::unique_ptr<Reducer> reducer_;
  int divisor_;       // of the sum of gradients
  int unsynced_ = 0;  // NoSync guards that live

  enum class Order : std::uint8_t { unknown, known, used } order_ = Order::unknown;
  std::vector<std::size_t> ready_order_;  // of the first armed pass; when known, rank 0's

  // With Unused::fixed, of the first armed pass: what this rank used, and how many ranks did.
  std::vector<std::uint8_t> first_used_;
  std::vector<double> first_users_;

  // The pass that runs.
  enum class Pass : std::uint8_t { none, running } pass_ = Pass::none;
  std::int64_t passes_ = 0;
  std::vector<std::size_t> lacking_;  // parameters that this pass does not reach, here
  UnusedPass unused_pass_;            // with Unused::reduce
  std::vector<std::size_t> changed_;  // with Unused::fixed: used otherwise than in the first pass
  std::vector<Tensor> kept_;          // with Unused::fixed: grads of lacking_ before the pass
  Tensor status_;
  comm::Work status_work_;

  std::optional<double> loss_;  // reported, and not on its way yet
  Tensor far_loss_;             // the same, on a device that the host has to wait for
  bool loss_travels_ = false;   // with the pass that runs
  std::optional<double> mean_loss_;
};

}  // namespace lockstep::ddp
