// What plan counts before a training is what the device's allocator counts during it.
#include <array>
#include <vector>

#include "engine/data/distributed_sampler.hpp"
#include "engine/nn/mlp.hpp"
#include "engine/plan/model_memory.hpp"
#include "engine/train/single_device_loop.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using plan::UpdateRule;

namespace {

constexpr std::array<std::int64_t, 4> widths{64, 256, 128, 10};

struct Measured {
  std::int64_t parameters = 0, gradients = 0, optimizer_state = 0, activations = 0;  // bytes
};

std::unique_ptr<optim::Optimizer> optimizer_for(nn::Module& model, UpdateRule rule) {
  if (rule == UpdateRule::adam) return optim::make_adam(model.parameters(), {});
  const double momentum = rule == UpdateRule::momentum ? 0.9 : 0.0;
  return optim::make_sgd(model.parameters(), {.learning_rate = 0.05, .momentum = momentum});
}

Measured measured_peaks(UpdateRule rule, std::int64_t batch) {
  CpuDevice device;
  const auto dataset = data::make_synthetic(512, widths.front(), widths.back(), 1);
  const auto model = nn::make_mlp(widths, DType::float32, device, 1);
  const auto optimizer = optimizer_for(*model, rule);
  const auto loader = data::make_plain_loader(
      *dataset,
      [&](int epoch) {
        return data::distributed_indices({dataset->size(), 0, 1, 0, epoch});
      },
      {.batch_size = batch}, device);
  train::single_device_loop(*model, *optimizer, *loader, 1);
  return {device.bytes_peak(MemoryKind::parameters), device.bytes_peak(MemoryKind::gradients),
          device.bytes_peak(MemoryKind::optimizer_state),
          device.bytes_peak(MemoryKind::activations)};
}

}  // namespace

TEST_CASE("memory: weights, gradients and optimizer state are what the plan counts, to the byte") {
  CpuDevice device;
  const auto model = nn::make_mlp(widths, DType::float32, device, 1);
  for (const UpdateRule rule : {UpdateRule::sgd, UpdateRule::momentum, UpdateRule::adam}) {
    CAPTURE(static_cast<int>(rule));
    const auto planned =
        plan::model_memory(nn::count_of(*model), {rule, plan::Precision::float32}, {}, 0);
    const Measured measured = measured_peaks(rule, 64);
    CHECK(measured.parameters == planned.weights);
    CHECK(measured.gradients == planned.gradients);
    CHECK(measured.optimizer_state == planned.optimizer_state);
  }
}

TEST_CASE("memory: of all kinds only activations follow the batch, in proportion") {
  const Measured one = measured_peaks(UpdateRule::adam, 64);
  const Measured two = measured_peaks(UpdateRule::adam, 128);
  const Measured three = measured_peaks(UpdateRule::adam, 192);
  CHECK(two.parameters == one.parameters);
  CHECK(two.gradients == one.gradients);
  CHECK(two.optimizer_state == one.optimizer_state);
  // 64 samples more cost the same each time. (Not zero at batch 0: while backward runs, the
  // gradient of one weight on its way to `gradients` is an activation, too.)
  CHECK(two.activations > one.activations);
  CHECK(three.activations - two.activations == two.activations - one.activations);
}
