// Stochastic gradient descent, with momentum and weight decay as PyTorch has them.
#include <utility>

#include "engine/optim/optimizer.hpp"
#include "engine/tensor/visit_float.hpp"

namespace lockstep::optim {
namespace {

class Sgd final : public Optimizer {
 public:
  Sgd(std::vector<Parameter*> parameters, const SgdOptions& options)
      : parameters_(std::move(parameters)), options_(options), velocities_(parameters_.size()) {}

  void step() override {
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      if (parameters_[i]->grad.defined()) update(*parameters_[i], velocities_[i]);
    }
  }

  void zero_grad() override {
    for (Parameter* parameter : parameters_) parameter->grad = {};
  }
  double learning_rate() const override { return options_.learning_rate; }
  void set_learning_rate(double rate) override { options_.learning_rate = rate; }
  std::span<Parameter* const> parameters() const override { return parameters_; }

 private:
  // Without momentum there is no velocity to keep: the gradient takes its place.
  void update(const Parameter& parameter, Tensor& velocity) {
    const bool first = !velocity.defined();
    const bool keeps = options_.momentum != 0;
    if (keeps && first)
      velocity = zeros(parameter.value.shape(), parameter.value.dtype(), parameter.value.device(),
                       MemoryKind::optimizer_state);
    visit_float("SGD", parameter.value, [&]<typename T>() {
      const auto value = parameter.value.data<T>();
      const auto grad = parameter.grad.data<T>();
      const auto kept = keeps ? velocity.data<T>() : std::span<T>();
      const T rate = static_cast<T>(options_.learning_rate);
      const T momentum = static_cast<T>(options_.momentum);
      const T decay = static_cast<T>(options_.weight_decay);
      for (std::size_t k = 0; k < value.size(); ++k) {
        T change = grad[k] + decay * value[k];
        if (keeps) change = kept[k] = first ? change : momentum * kept[k] + change;
        value[k] -= rate * change;
      }
    });
    parameter.value.device().charge(4.0 * static_cast<double>(parameter.value.numel()),
                                    5.0 * static_cast<double>(parameter.value.bytes()));
  }

  std::vector<Parameter*> parameters_;
  SgdOptions options_;
  std::vector<Tensor> velocities_;  // undefined until a parameter's first update
};

}  // namespace

std::unique_ptr<Optimizer> make_sgd(std::vector<Parameter*> parameters, const SgdOptions& options) {
  return std::make_unique<Sgd>(std::move(parameters), options);
}

}  // namespace lockstep::optim
