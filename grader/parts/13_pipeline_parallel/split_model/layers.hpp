// The judge as the devices of split_model: it has the matrices of all layers, runs one when its
// device asks for it, and answers after the pass's time. So it knows which passes ran, and when.
#pragma once

#include <map>
#include <vector>

#include "grader/exam/ranks/members.hpp"
#include "grader/exam/ranks/reported_service.hpp"
#include "grader/exam/schedule/chain_rules.hpp"
#include "grader/parts/13_pipeline_parallel/split_model/case.hpp"

namespace lockstep::grader::split_model {

constexpr double forward_s = 20e-6;  // of each layer; backward takes twice as long

class LayerService final : public TypedService<LayerCall> {
 public:
  LayerService(Members members, std::vector<int> device_of_layer, Chain chain);

  // The passes of a device in their order: layers 1, 2, … forward, -1, -2, … backward.
  const std::vector<int>& passes(int device) const {
    return passes_[static_cast<std::size_t>(device)];
  }
  // The gradient of a layer's matrix; zeros if it did not go back.
  const std::vector<double>& gradient(int layer) const {
    return gradients_[static_cast<std::size_t>(layer)];
  }

 private:
  std::optional<Answer> answer(const sim::Actor& who, LayerCall call, double now) override;

  Members members_;
  std::vector<int> device_of_layer_;
  Chain chain_;
  std::vector<std::vector<int>> passes_;        // by device
  std::vector<double> free_s_;                  // the same: a device runs one pass at a time
  std::vector<std::vector<double>> gradients_;  // by layer
  std::map<int, std::vector<double>> inputs_;   // the same, what its forward pass was given
};

}  // namespace lockstep::grader::split_model
