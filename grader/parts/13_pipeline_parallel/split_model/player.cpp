// Plays split_model: the layers of one device are matrices of a chain, which the judge has, and
// runs.
#include "engine/parallel/pipeline/split_model.hpp"

#include <algorithm>

#include "grader/parts/13_pipeline_parallel/split_model/case.hpp"
#include "grader/play/ask.hpp"
#include "grader/play/ranks_play.hpp"

namespace lockstep::grader {
namespace {

// The judge, which runs the layers, at this end of the line.
class ServedLayers final : public ChainComputer {
 public:
  ServedLayers(const SplitCase& c, sim::Port& port) : case_(c), port_(port) {}

  std::vector<double> forward(std::size_t which, int, const std::vector<double>& x) override {
    return ask<LayerAnswer>(port_, LayerCall{case_.share.mine.at(which), 0, x}).numbers;
  }
  std::vector<double> back(std::size_t which, int, const std::vector<double>& gradient) override {
    return ask<LayerAnswer>(port_, LayerCall{case_.share.mine.at(which), 1, gradient}).numbers;
  }
  void weights(std::size_t, int) override {}  // made by the same pass

 private:
  const SplitCase& case_;
  sim::Port& port_;
};

class ChainLayers final : public pipeline::Layers {
 public:
  ChainLayers(const SplitCase& c, Device& device, sim::Port& port)
      : case_(c), device_(device), layers_(c, port), chain_(c.share, device, "layer", &layers_) {}

  Tensor make_input(int layer) override { return chain_.room_before(place_of(layer), 0); }
  Tensor make_gradient(int layer) override { return chain_.room_after(place_of(layer), 0); }
  Tensor forward(int layer, const Tensor& input) override {
    return chain_.forward(place_of(layer), 0, input);
  }
  Tensor backward(int layer, const Tensor& gradient) override {
    const std::size_t which = place_of(layer);
    const bool ends = chain_.ends(which);
    LOCKSTEP_CHECK(ends != gradient.defined(), "backward(), layer ", layer,
                   ends ? ": backward begins at the last layer, which needs no gradient"
                        : ": no gradient was given");
    const Tensor seed = ends ? full({1}, 1.0, DType::float64, device_) : gradient;
    Tensor to_input = chain_.input_gradient(which, 0, seed);
    chain_.weight_gradient(which, 0);
    return to_input;
  }

 private:
  std::size_t place_of(int layer) const {
    const auto at = std::ranges::find(case_.share.mine, layer);
    LOCKSTEP_CHECK(at != case_.share.mine.end(), "layer ", layer, " does not lie on this device");
    return static_cast<std::size_t>(at - case_.share.mine.begin());
  }

  const SplitCase& case_;
  Device& device_;
  ServedLayers layers_;
  HeldChain chain_;
};

SplitReport be_a_device(comm::ProcessGroup& group, const SplitCase& c, Device& device,
                        sim::Port& port) {
  SplitReport report;
  ChainLayers layers(c, device, port);
  const pipeline::SplitRun run = pipeline::run_split(group, c.device_of_layer, layers);
  for (std::int64_t i = 0; run.loss.defined() && i < run.loss.numel(); ++i) {
    report.loss.push_back(run.loss.item(i));
  }
  return report;
}

}  // namespace

Bytes play(sim::PlayerCase& played) { return play_in_group<SplitCase>(played, be_a_device); }

}  // namespace lockstep::grader
