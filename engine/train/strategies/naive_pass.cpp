#include "engine/train/strategies/naive_pass.hpp"

#include <numeric>
#include <vector>

#include "engine/parallel/pipeline/split_model.hpp"
#include "engine/tensor/ops.hpp"

namespace lockstep::train {
namespace {

// A stage as the only layer of its device.
class OneLayer final : public pipeline::Layers {
 public:
  OneLayer(pipeline::Stage& stage, double weight) : stage_(stage), weight_(weight) {}

  Tensor make_input(int) override { return stage_.make_input({}); }
  Tensor make_gradient(int) override { return stage_.make_gradient({}); }
  Tensor forward(int, const Tensor& input) override {
    made_ = stage_.forward({}, input);
    return made_;
  }
  Tensor backward(int, const Tensor& gradient) override {
    if (gradient.defined()) return stage_.backward({}, gradient);
    const Tensor of_loss =
        full(made_.shape(), weight_, made_.dtype(), made_.device(), MemoryKind::activations);
    return stage_.backward({}, of_loss);
  }

 private:
  pipeline::Stage& stage_;
  double weight_;
  Tensor made_;  // by forward
};

}  // namespace

pipeline::StageResult run_naive(comm::ProcessGroup& stages, pipeline::Stage& mine, double weight) {
  std::vector<int> device_of_layer(static_cast<std::size_t>(stages.size()));
  std::iota(device_of_layer.begin(), device_of_layer.end(), 0);
  OneLayer layer(mine, weight);
  const Tensor loss = pipeline::run_split(stages, device_of_layer, layer).loss;
  return {loss.defined() ? ops::scale(loss, weight) : loss};
}

}  // namespace lockstep::train
