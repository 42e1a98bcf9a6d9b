// An optimizer for parameters of 16 bits. It keeps their masters, the same weights in float32, and
// updates those; the 16-bit parameters are the masters, rounded after each step.
//   P elements of all parameters, L of the largest one; Adam's masters and state: 12·P bytes
//
// A bfloat16 weight has 8 bits: a step that changes it by less than 1/512 of itself rounds back to
// where it was, step after step. In a master, which has 24, such steps add up.
//
// A step, in this order
//   a. look for a gradient that is not finite; if there is one: no update, and the loss scale falls
//   b. the norm of the gradients, divided by the loss scale, and with it clipping's one factor
//   c. for each parameter alone: its gradient in float32, divided by the loss scale and
//      clipped; the update of its master; the parameter, rounded from it
// So gradients are held in 16 bits, and in float32 for one parameter at a time.
// Source: [MIX17] §3.1, §3.2
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/optim/loss_scaler.hpp"
#include "engine/optim/optimizer.hpp"

namespace lockstep::optim {

struct MasterOptions {
  double clip_norm = 0;  // as clip_grad_norm's, of a step; 0: none
  std::optional<LossScalerOptions> scaler = std::nullopt;  // none: gradients are not scaled
};

class MasterOptimizer final : public Optimizer {
 public:
  //   inner    over the masters, in the order of `rounded`
  //   rounded  the parameters of the passes, of the same names; must outlive this
  //   Ensures  each parameter is its master, rounded
  //   Throws   ContractError when the lists differ in names or numbers of elements
  MasterOptimizer(std::unique_ptr<Optimizer> inner, std::vector<Parameter*> rounded,
                  const MasterOptions& options);

  // Sets every parameter to its master, rounded: after somebody has changed masters.
  void round();
  // The scale of the loss that the next backward pass begins with; 1 without a scaler.
  double loss_scale() const { return scaler_ ? scaler_->scale() : 1; }
  std::optional<LossScaler>& scaler() { return scaler_; }
  void set_clip_norm(double clip_norm) { clip_norm_ = clip_norm; }

  std::string_view kind() const override { return inner_->kind(); }
  // With replicas that reduced their gradients, each finds the same overflow: they need not agree.
  //   Throws  Error as LossScaler::update
  void step() override;
  void zero_grad() override;
  double learning_rate() const override { return inner_->learning_rate(); }
  void set_learning_rate(double rate) override { inner_->set_learning_rate(rate); }
  // Those of the passes, which have the gradients.
  std::span<Parameter* const> parameters() const override { return rounded_; }
  // In float32. The masters are no part of it: they are the weights of the run.
  std::vector<StateTensor> state() const override { return inner_->state(); }
  void load_state(std::span<const StateTensor> state) override { inner_->load_state(state); }

 private:
  Overflow look(std::span<const Tensor> grads) const;
  Tensor clip_factor(std::span<const Tensor> grads, double scale) const;

  std::unique_ptr<Optimizer> inner_;
  std::vector<Parameter*> rounded_;
  double clip_norm_;
  std::optional<LossScaler> scaler_;
};

}  // namespace lockstep::optim
