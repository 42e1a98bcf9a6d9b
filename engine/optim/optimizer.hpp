// Optimizers: an update rule over parameters. A parameter without gradient is left alone, its state
// too. The rules themselves are in engine/tensor/update_rules.hpp.
//
// State is what a run needs to go on as if it had not stopped. It has PyTorch's names, after the
// name of the parameter it belongs to: "0.weight.exp_avg". The rates and factors of the options are
// no state: whoever makes the optimizer gives them again.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/autograd/tape.hpp"
#include "engine/tensor/update_rules.hpp"

namespace lockstep::optim {

using lockstep::DecayForm;
using lockstep::Nesterov;

// One piece of an optimizer's state, under its full name.
struct StateTensor {
  std::string name;
  Tensor value;
};

class Optimizer {
 public:
  virtual ~Optimizer() = default;
  virtual std::string_view kind() const = 0;  // "sgd", "adam", "adamw"
  virtual void step() = 0;                    // one update from the gradients that are there
  // The update of parameters()[index] alone. step() is one of each, so that whoever makes gradients
  // of another form holds one at a time.
  //   Throws  ContractError from an optimizer that needs them together
  virtual void step_one(std::size_t index);
  virtual void zero_grad() = 0;  // makes every gradient undefined, as PyTorch's set_to_none
  virtual double learning_rate() const = 0;
  virtual void set_learning_rate(double rate) = 0;
  virtual std::span<Parameter* const> parameters() const = 0;

  // The state, parameter by parameter, as views where it is kept in tensors: the next step changes
  // them. A parameter that was never updated has none. On a device without numbers it has the names
  // and shapes of any other, and taken back it counts as one update.
  //   Throws  ContractError when two parameters have one name
  virtual std::vector<StateTensor> state() const = 0;
  // Replaces the whole state by copies of `state`, bit for bit; the next step is then the one that
  // the optimizer which gave it away would have taken.
  //   Throws  UsageError when a name, a shape or a dtype is not of this optimizer's state, or when
  //           a parameter has only a part of its state; nothing is changed then
  virtual void load_state(std::span<const StateTensor> state) = 0;
};

// State of a parameter: `momentum_buffer`, like the parameter, when momentum is not 0.
struct SgdOptions {
  double learning_rate = 0.1;
  double momentum = 0.0;
  double weight_decay = 0.0;
  Nesterov nesterov = Nesterov::no;
  // Parameters with fewer dimensions are not decayed. 0: all are; 2: weights of matrices only, not
  // biases and norms, as is usual for GPT models. Of a parameter that is a part of a tensor, the
  // whole's count (Parameter::whole).
  int decay_dims_min = 0;
};
std::unique_ptr<Optimizer> make_sgd(std::vector<Parameter*> parameters, const SgdOptions& options);

// State of a parameter: `step` [] int64, the updates it has had; `exp_avg` and `exp_avg_sq`, like
// the parameter.
struct AdamOptions {
  double learning_rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0.0;  // PyTorch's AdamW has 0.01 where nothing is said
  int decay_dims_min = 0;     // as in SgdOptions
};
std::unique_ptr<Optimizer> make_adam(std::vector<Parameter*> parameters,
                                     const AdamOptions& options);  // decay coupled
std::unique_ptr<Optimizer> make_adamw(std::vector<Parameter*> parameters,
                                      const AdamOptions& options);  // decay decoupled

// Scales all gradients by max_norm / (norm + 1e-6), where that is below 1; norm is their global L2
// norm. So does PyTorch's clip_grad_norm_: gradients whose norm is max_norm already are scaled, by
// hardly less than 1. Returns the norm before clipping, [1] float64 on the gradients' device, which
// the host need not read: number_of(norm). max_norm <= 0 only measures.
//   Note  squares are summed in float64, parameter by parameter in order, each in the order of
//         ops::sum_of_squares. A norm that is infinite or NaN is returned and the gradients are
//         left as they are, for no factor repairs them: look at it before the step.
//   Returns  an undefined tensor when there is no gradient at all
Tensor clip_grad_norm(std::span<Parameter* const> parameters, double max_norm);

}  // namespace lockstep::optim
