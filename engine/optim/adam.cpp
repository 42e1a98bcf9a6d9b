// Adam and AdamW over parameters: two moments for each; the rule is ops::adam_update_.
#include <utility>

#include "engine/optim/parameter_state.hpp"

namespace lockstep::optim {
namespace {

class Adam final : public ParameterWise {
 public:
  Adam(std::vector<Parameter*> parameters, const AdamOptions& options, DecayForm decay_form)
      : ParameterWise(std::move(parameters), options.learning_rate, {"exp_avg", "exp_avg_sq"},
                      Counts::yes),
        options_(options),
        decay_form_(decay_form) {}

  std::string_view kind() const override {
    return decay_form_ == DecayForm::coupled ? "adam" : "adamw";
  }

 private:
  void update(const Parameter& parameter, const State& state) const override {
    const AdamRule rule{.learning_rate = learning_rate(),
                        .beta1 = options_.beta1,
                        .beta2 = options_.beta2,
                        .epsilon = options_.epsilon,
                        .weight_decay = decay_of(parameter, options_),
                        .decay_form = decay_form_};
    ops::adam_update_(parameter.value, parameter.grad, state.tensors[0], state.tensors[1], rule,
                      state.updates);
  }

  AdamOptions options_;
  DecayForm decay_form_;
};

}  // namespace

std::unique_ptr<Optimizer> make_adam(std::vector<Parameter*> parameters,
                                     const AdamOptions& options) {
  return std::make_unique<Adam>(std::move(parameters), options, DecayForm::coupled);
}

std::unique_ptr<Optimizer> make_adamw(std::vector<Parameter*> parameters,
                                      const AdamOptions& options) {
  return std::make_unique<Adam>(std::move(parameters), options, DecayForm::decoupled);
}

}  // namespace lockstep::optim
