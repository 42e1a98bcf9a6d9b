// Plays split_model: the layers of one device are matrices of a chain, and take virtual time.
#include "engine/parallel/pipeline/split_model.hpp"

#include <algorithm>

#include "grader/parts/13_pipeline_parallel/split_model/case.hpp"
#include "grader/play/ask.hpp"
#include "grader/play/ranks_play.hpp"

namespace lockstep::grader {
namespace {

class ChainLayers final : public pipeline::Layers {
 public:
  ChainLayers(const SplitCase& c, Device& device, sim::Port& port, SplitReport& report)
      : case_(c), device_(device), port_(port), report_(report), chain_(c.share, device, "layer") {}

  Tensor make_input(int layer) override { return chain_.room_before(place_of(layer), 0); }
  Tensor make_gradient(int layer) override { return chain_.room_after(place_of(layer), 0); }
  Tensor forward(int layer, const Tensor& input) override {
    const std::size_t which = place_of(layer);
    report_.passes.push_back(layer + 1);
    pass_time(port_, case_.forward_s);
    return chain_.forward(which, 0, input);
  }
  Tensor backward(int layer, const Tensor& gradient) override {
    const std::size_t which = place_of(layer);
    report_.passes.push_back(-(layer + 1));
    pass_time(port_, 2 * case_.forward_s);
    const bool ends = chain_.ends(which);
    LOCKSTEP_CHECK(ends != gradient.defined(), "backward(), layer ", layer,
                   ends ? ": backward begins at the last layer, which needs no gradient"
                        : ": no gradient was given");
    const Tensor seed = ends ? full({1}, 1.0, DType::float64, device_) : gradient;
    Tensor to_input = chain_.input_gradient(which, 0, seed);
    chain_.weight_gradient(which, 0);
    return to_input;
  }

  const HeldChain& chain() const { return chain_; }

 private:
  std::size_t place_of(int layer) const {
    const auto at = std::ranges::find(case_.share.mine, layer);
    LOCKSTEP_CHECK(at != case_.share.mine.end(), "layer ", layer, " does not lie on this device");
    return static_cast<std::size_t>(at - case_.share.mine.begin());
  }

  const SplitCase& case_;
  Device& device_;
  sim::Port& port_;
  SplitReport& report_;
  HeldChain chain_;
};

SplitReport be_a_device(comm::ProcessGroup& group, const SplitCase& c, Device& device,
                        sim::Port& port) {
  SplitReport report;
  ChainLayers layers(c, device, port, report);
  const pipeline::SplitRun run = pipeline::run_split(group, c.device_of_layer, layers);
  report.gradients = layers.chain().gradients();
  for (std::int64_t i = 0; run.loss.defined() && i < run.loss.numel(); ++i) {
    report.loss.push_back(run.loss.item(i));
  }
  return report;
}

}  // namespace

Bytes play(sim::PlayerCase& played) { return play_in_group<SplitCase>(played, be_a_device); }

}  // namespace lockstep::grader
