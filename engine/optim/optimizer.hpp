// Optimizers: an update rule over parameters. A parameter without gradient is left alone.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "engine/autograd/tape.hpp"

namespace lockstep::optim {

class Optimizer {
 public:
  virtual ~Optimizer() = default;
  virtual void step() = 0;       // one update from the gradients that are there
  virtual void zero_grad() = 0;  // makes every gradient undefined, as PyTorch's set_to_none
  virtual double learning_rate() const = 0;
  virtual void set_learning_rate(double rate) = 0;
  virtual std::span<Parameter* const> parameters() const = 0;
};

// velocity = momentum · velocity + g (+ weight_decay · p); p -= rate · velocity. The first step's
// velocity is g itself, as in PyTorch's SGD.
struct SgdOptions {
  double learning_rate = 0.1;
  double momentum = 0.0;
  double weight_decay = 0.0;
};
std::unique_ptr<Optimizer> make_sgd(std::vector<Parameter*> parameters, const SgdOptions& options);

// Adam with bias correction, epsilon outside the root. Source: [KB14] algorithm 1, PyTorch's order.
struct AdamOptions {
  double learning_rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
};
std::unique_ptr<Optimizer> make_adam(std::vector<Parameter*> parameters,
                                     const AdamOptions& options);

// Scales all gradients by max_norm / (norm + 1e-6) when their global L2 norm exceeds max_norm
// (PyTorch's clip_grad_norm_). Returns the norm before clipping; max_norm <= 0 only measures.
double clip_grad_norm(std::span<Parameter* const> parameters, double max_norm);

}  // namespace lockstep::optim
