// The bookkeeping that optimizers share: which tensors of state a parameter has, when they begin,
// how they are named, given away and taken back. Private to the optimizers of this room.
//
// Invariants
//   1. A parameter has either none of its tensors of state (it was never updated) or all of them.
//   2. A tensor of state has its parameter's shape, dtype and device, and began as zeros.
#pragma once

#include "engine/optim/optimizer.hpp"

namespace lockstep::optim {

class ParameterWise : public Optimizer {
 public:
  void step() final;
  void step_one(std::size_t index) final;
  void zero_grad() final;
  double learning_rate() const final { return learning_rate_; }
  void set_learning_rate(double rate) final { learning_rate_ = rate; }
  std::span<Parameter* const> parameters() const final { return parameters_; }
  std::vector<StateTensor> state() const final;
  void load_state(std::span<const StateTensor> state) final;

 protected:
  enum class Counts : std::uint8_t { no, yes };  // whether `step` is a part of the state

  ParameterWise(std::vector<Parameter*> parameters, double learning_rate,
                std::vector<std::string> tensor_names, Counts counts);

  // The state of one parameter. `tensors` are in the order of the names given.
  struct State {
    std::int64_t updates = 0;  // this update included
    std::vector<Tensor> tensors;
  };
  // One update of a parameter that has a gradient.
  virtual void update(const Parameter& parameter, const State& state) const = 0;

 private:
  State state_of(const Parameter& parameter, std::span<const StateTensor> given,
                 std::size_t& taken) const;

  std::vector<Parameter*> parameters_;
  double learning_rate_;
  std::vector<std::string> tensor_names_;
  Counts counts_;
  std::vector<State> states_;  // one a parameter
};

// The weight decay that `options` ask for this parameter: by the dimensions of the whole tensor,
// where it is a range of one.
template <typename Options>
double decay_of(const Parameter& parameter, const Options& options) {
  const bool decays = std::ssize(parameter.whole_shape()) >= options.decay_dims_min;
  return decays ? options.weight_decay : 0;
}

}  // namespace lockstep::optim
