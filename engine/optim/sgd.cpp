// Stochastic gradient descent over parameters; the rule is ops::sgd_update_.
#include <utility>

#include "engine/optim/parameter_state.hpp"

namespace lockstep::optim {
namespace {

// Without momentum there is no velocity to keep.
std::vector<std::string> state_names(const SgdOptions& options) {
  if (options.momentum == 0) return {};
  return {"momentum_buffer"};
}

class Sgd final : public ParameterWise {
 public:
  Sgd(std::vector<Parameter*> parameters, const SgdOptions& options)
      : ParameterWise(std::move(parameters), options.learning_rate, state_names(options),
                      Counts::no),
        options_(options) {}

  std::string_view kind() const override { return "sgd"; }

 private:
  void update(const Parameter& parameter, const State& state) const override {
    const SgdRule rule{.learning_rate = learning_rate(),
                       .momentum = options_.momentum,
                       .weight_decay = decay_of(parameter, options_),
                       .nesterov = options_.nesterov};
    ops::sgd_update_(parameter.value, parameter.grad,
                     state.tensors.empty() ? Tensor() : state.tensors[0], rule);
  }

  SgdOptions options_;
};

}  // namespace

std::unique_ptr<Optimizer> make_sgd(std::vector<Parameter*> parameters, const SgdOptions& options) {
  LOCKSTEP_CHECK(
      options.nesterov == Nesterov::no || options.momentum != 0,
      "make_sgd: Nesterov's look ahead follows the velocity, and momentum 0 keeps none; ",
      "give a momentum");
  return std::make_unique<Sgd>(std::move(parameters), options);
}

}  // namespace lockstep::optim
