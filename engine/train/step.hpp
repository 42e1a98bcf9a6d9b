// One optimizer step of a rank, in one of two ways. Both end with equal replicas; they differ in
// when the gradients travel.
#pragma once

#include <memory>
#include <span>

#include "engine/comm/process_group.hpp"
#include "engine/data/dataset.hpp"
#include "engine/nn/module.hpp"
#include "engine/optim/optimizer.hpp"
#include "engine/parallel/ddp/ddp.hpp"
#include "engine/train/phases.hpp"

namespace lockstep::train {

enum class Reduction : std::uint8_t {
  after_backward,   // data_parallel_step: the plain way, tensor by tensor when backward is over
  during_backward,  // ddp::Ddp: in buckets, while backward goes on
};

struct StepOptions {
  Reduction reduction = Reduction::after_backward;
  double clip_norm = 0;          // bound on the averaged gradient's global norm; 0: none
  ddp::Options ddp{};            // of during_backward
  PhaseWatch* phases = nullptr;  // told what the rank is doing; must outlive the stepper
};

class Stepper {
 public:
  virtual ~Stepper() = default;
  // Trains the replica one step on the union of all ranks' micro-batches.
  //   mine      this rank's [B] samples each; every rank brings as many of the same sizes. Their
  //             gradients add up on the rank, each weighed by its share of the labels, and travel
  //             once, with the last one
  //   occasion  of the first micro-batch's first sample
  //   Returns   the mean loss over the labels of all ranks, before the update; the same everywhere.
  //             nan where the model's device has no numbers
  //   Comm      the gradients once; the loss as one number, which rides along during_backward
  virtual double take(std::span<const data::Batch> mine, const nn::Occasion& occasion) = 0;
  // Of the last step; zeros when that is not measured.
  virtual ddp::Communication communication() const { return {}; }
};

// The references must outlive the stepper. On one rank, and for one batch a step, there is nothing
// to reduce, and the plain way is taken whatever was asked for.
//   micro_batches  the most that a step takes
//   Ensures replicas are equal
//   Comm    replicas::make_equal
//   Throws  ContractError, on every rank, when the replicas are not one model, naming the first
//           parameter that differs; and when after_backward is asked to take more than one batch a
//           step
std::unique_ptr<Stepper> make_stepper(comm::ProcessGroup& group, nn::Module& model,
                                      optim::Optimizer& optimizer, std::int64_t micro_batches,
                                      const StepOptions& options);

}  // namespace lockstep::train
