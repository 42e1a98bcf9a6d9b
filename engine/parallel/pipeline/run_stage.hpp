// One stage of a pipeline, at work: it carries out its actions and talks to its neighbours.
//   p stages, s this one; v chunks of it; m micro-batches
#pragma once

#include <span>

#include "engine/comm/peers.hpp"
#include "engine/parallel/pipeline/action.hpp"
#include "engine/tensor/tensor.hpp"

namespace lockstep::pipeline {

// A pass's chunk and micro-batch.
struct PassOf {
  int chunk = 0;
  int micro_batch = 0;
};

// The passes that a stage can run on its chunks. It keeps what a backward pass needs, from the
// forward pass on, and knows nothing of other stages. It may keep the tensors that it was given or
// returned. Until the last pass of the micro-batch has run, nothing may write to them, and their
// memory receives no other message.
class Stage {
 public:
  virtual ~Stage() = default;
  virtual int chunks() const = 0;

  // Memory for what this pass gets from the part before it, and for the gradient of what it gives
  // to the part after it: contiguous, of the dtype and on the device of the pass.
  virtual Tensor make_input(const PassOf& pass) = 0;
  virtual Tensor make_gradient(const PassOf& pass) = 0;

  //   input    from the part before; undefined for the model's first part, which has its own
  //   Returns  what the next part gets; for the model's last part the loss, one element: the mean
  //            over the micro-batch. It belongs to the stage, so nothing may write to it
  virtual Tensor forward(const PassOf& pass, const Tensor& input) = 0;
  // Adds to the gradients of the chunk's parameters, and frees what forward kept.
  //   gradient  of what forward returned
  //   Returns   the gradient of its input; undefined for the model's first part
  virtual Tensor backward(const PassOf& pass, const Tensor& gradient) = 0;
  // The same in two halves: the second needs only what the first left behind.
  virtual Tensor input_gradient(const PassOf& pass, const Tensor& gradient) = 0;
  virtual void weight_gradient(const PassOf& pass) = 0;
};

struct StageResult {
  // On the stage with the model's last part Σ weight · loss, one element; elsewhere undefined.
  Tensor loss;
};

// Carries out this stage's actions of a plan, in their order. outbox.hpp says which stage gives an
// action what it needs, and which stage needs what it makes.
//   stages   the p ranks of one pipeline, in the order of the stages
//   plan     valid (plan.hpp), or only forward passes, as in an evaluation; the same on all stages
//   weights  m: the weight of micro-batch j in the sum, such as its share of the batch's labels;
//            any number, also 0 or a negative one
//   Ensures  the gradients are those of Σ weight · loss: where the model's last part begins its
//            backward pass, the gradient of a micro-batch's loss is its weight. Every message of
//            the plan was sent and received. The receive of an action is posted before the previous
//            action runs, so that the message travels meanwhile. A stage waits for a message when
//            it needs it, and never for one that it sent
//   Comm     per micro-batch, for each boundary between two parts on different stages: its
//            activations forward and as many bytes of gradient back, with the parcel's tag
//   Memory   what was received, until its pass has run, and one tensor that is still in flight;
//            what was sent, until a message shows, by the plan, that its receiver has it; besides
//            these, at most two tensors
//   Throws   CommError when a neighbour is lost; what the stage throws
//   Source   [NHP19] §3, [NSC21] §2
StageResult run_stage(comm::Peers& stages, Stage& mine, const Plan& plan,
                      std::span<const double> weights);

}  // namespace lockstep::pipeline
