// Plays single_device_loop: trains a model on batches that the judge serves.
#include "engine/train/single_device_loop.hpp"

#include "grader/parts/01_why_distribute/single_device_loop/case.hpp"
#include "grader/play/poison_device.hpp"
#include "grader/play/training.hpp"

namespace lockstep::grader {
namespace {

class ServedLoader final : public data::Loader {
 public:
  ServedLoader(sim::Port& port, const LoopCase& c, Device& device)
      : port_(port), shape_{.inputs = c.widths.front()}, dtype_(c.dtype), device_(device) {}

  void start(int epoch) override { tell(port_, LoaderCall{epoch}); }

  std::optional<data::Batch> next() override {
    const auto values = ask<SampleValues>(port_, LoaderCall{});
    if (values.labels.empty()) return std::nullopt;
    return batch_of(values, shape_, dtype_, device_);
  }

 private:
  sim::Port& port_;
  DatasetShape shape_;
  DType dtype_;
  Device& device_;
};

}  // namespace

Bytes play(sim::PlayerCase& played) {
  const auto c = read_fields<LoopCase>(played.input);
  PoisonDevice device;
  const auto model = nn::make_mlp(c.widths, c.dtype, device, c.model_seed);
  const auto optimizer = make_optimizer(*model, c.optimizer);
  ServedLoader loader(played.port, c, device);
  const auto losses = train::single_device_loop(*model, *optimizer, loader, c.epochs);
  return fields_to_bytes(LoopReport{losses, values_of(*model)});
}

}  // namespace lockstep::grader
