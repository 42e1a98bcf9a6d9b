// Adam with bias correction, element by element; one pair of moments for each parameter.
#include <cmath>
#include <utility>

#include "engine/optim/optimizer.hpp"
#include "engine/tensor/visit_float.hpp"

namespace lockstep::optim {
namespace {

// The two moments and the number of updates of one parameter; a parameter that has no gradient in
// some step does not count it.
struct Moments {
  std::int64_t updates = 0;
  Tensor first, second;
};

class Adam final : public Optimizer {
 public:
  Adam(std::vector<Parameter*> parameters, const AdamOptions& options)
      : parameters_(std::move(parameters)), options_(options), moments_(parameters_.size()) {}

  void step() override {
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      if (parameters_[i]->grad.defined()) update(*parameters_[i], moments_[i]);
    }
  }

  void zero_grad() override {
    for (Parameter* parameter : parameters_) parameter->grad = {};
  }
  double learning_rate() const override { return options_.learning_rate; }
  void set_learning_rate(double rate) override { options_.learning_rate = rate; }
  std::span<Parameter* const> parameters() const override { return parameters_; }

 private:
  void update(const Parameter& parameter, Moments& moments) const {
    if (moments.updates == 0) {
      for (Tensor* moment : {&moments.first, &moments.second}) {
        *moment = zeros(parameter.value.shape(), parameter.value.dtype(), parameter.value.device(),
                        MemoryKind::optimizer_state);
      }
    }
    const auto updates = static_cast<double>(++moments.updates);
    const double correction1 = 1 - std::pow(options_.beta1, updates);
    const double correction2 = std::sqrt(1 - std::pow(options_.beta2, updates));
    visit_float("Adam", parameter.value, [&]<typename T>() {
      const auto value = parameter.value.data<T>();
      const auto grad = parameter.grad.data<T>();
      const auto m = moments.first.data<T>(), v = moments.second.data<T>();
      const T beta1 = static_cast<T>(options_.beta1), beta2 = static_cast<T>(options_.beta2);
      const T rest1 = static_cast<T>(1 - options_.beta1),
              rest2 = static_cast<T>(1 - options_.beta2);
      const T rate = static_cast<T>(options_.learning_rate / correction1);
      const T scale = static_cast<T>(correction2);
      const T epsilon = static_cast<T>(options_.epsilon);
      for (std::size_t k = 0; k < value.size(); ++k) {
        m[k] = beta1 * m[k] + rest1 * grad[k];
        v[k] = beta2 * v[k] + rest2 * (grad[k] * grad[k]);
        value[k] -= rate * (m[k] / (std::sqrt(v[k]) / scale + epsilon));
      }
    });
    parameter.value.device().charge(12.0 * static_cast<double>(parameter.value.numel()),
                                    7.0 * static_cast<double>(parameter.value.bytes()));
  }

  std::vector<Parameter*> parameters_;
  AdamOptions options_;
  std::vector<Moments> moments_;
};

}  // namespace

std::unique_ptr<Optimizer> make_adam(std::vector<Parameter*> parameters,
                                     const AdamOptions& options) {
  return std::make_unique<Adam>(std::move(parameters), options);
}

}  // namespace lockstep::optim
