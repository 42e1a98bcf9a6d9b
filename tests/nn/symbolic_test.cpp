// A training pass on a symbolic device against the same pass with numbers: what is counted must not
// depend on whether there are numbers to count for.
#include "engine/tensor/symbolic.hpp"

#include <vector>

#include "engine/nn/gpt.hpp"
#include "engine/nn/mlp.hpp"
#include "tests/catch.hpp"

using namespace lockstep;

namespace {

// All that a device counts of one forward and one backward pass.
struct Count {
  std::vector<std::int64_t> bytes_peak;  // by kind, then of all together
  double flops = 0, bytes_moved = 0;
  bool operator==(const Count&) const = default;
};

Count counted_pass(nn::Module& model, const Tensor& x, const Tensor& labels) {
  Device& device = x.device();
  device.reset_peak();
  const double flops = device.flops(), bytes_moved = device.bytes_moved();
  {
    Tape tape(GradMode::record);
    const Value logits = model.forward(tape, tape.constant(x));
    tape.backward(autograd::cross_entropy(tape, logits, labels));
  }
  Count count{{}, device.flops() - flops, device.bytes_moved() - bytes_moved};
  for (std::size_t kind = 0; kind < memory_kinds; ++kind) {
    count.bytes_peak.push_back(device.bytes_peak(static_cast<MemoryKind>(kind)));
  }
  count.bytes_peak.push_back(device.bytes_peak());
  return count;
}

Count gpt_pass(nn::GptOptions options, DType dtype, Device& device) {
  const auto model = nn::make_gpt(options, dtype, device, 1);
  model->prepare({.mode = nn::Mode::training});
  const Shape batch{2, options.sequence};
  return counted_pass(*model, zeros(batch, DType::int64, device),
                      zeros(batch, DType::int64, device));
}

}  // namespace

TEST_CASE("symbolic: a GPT's pass is counted as with numbers, whatever it keeps") {
  const nn::Keep keep = GENERATE(nn::Keep::activations, nn::Keep::block_inputs);
  const double dropout = GENERATE(0.0, 0.1);
  const nn::GptOptions small{.layers = 2,
                             .width = 16,
                             .heads = 2,
                             .sequence = 6,
                             .vocabulary = 11,
                             .dropout = dropout,
                             .keep = keep};
  CpuDevice real;
  SymbolicDevice symbolic;
  const Count seen = gpt_pass(small, DType::float32, symbolic);
  const Count expected = gpt_pass(small, DType::float32, real);
  CHECK(seen.bytes_peak == expected.bytes_peak);
  CHECK(seen.flops == expected.flops);
  CHECK(seen.bytes_moved == expected.bytes_moved);
  CHECK(seen.flops > 0);
}

TEST_CASE("symbolic: an MLP's pass is counted as with numbers") {
  const auto count = [](Device& device) {
    const auto mlp = nn::make_mlp(std::vector<std::int64_t>{5, 7, 3}, DType::float64, device, 0);
    return counted_pass(*mlp, zeros({4, 5}, DType::float64, device),
                        zeros({4}, DType::int64, device));
  };
  CpuDevice real;
  SymbolicDevice symbolic;
  CHECK(count(symbolic) == count(real));
}

// Sizes of GPT-3, [BMR20] table 2.1: 96 layers, width 12288, 96 heads, 2048 tokens.
TEST_CASE("symbolic: a model of 175 billion parameters passes on a machine that cannot hold it") {
  SymbolicDevice device;
  const Count count = gpt_pass({.layers = 96,
                                .width = 12288,
                                .heads = 96,
                                .sequence = 2048,
                                .vocabulary = 50257,
                                .keep = nn::Keep::block_inputs},
                               DType::float32, device);
  const auto peak = [&](MemoryKind kind) { return device.bytes_peak(kind); };
  const double parameters = static_cast<double>(peak(MemoryKind::parameters)) / 4;
  CHECK(parameters > 174e9);
  CHECK(parameters < 176e9);
  CHECK(peak(MemoryKind::gradients) == peak(MemoryKind::parameters));
  // 6 FLOPs a parameter and token, 2 more for the second forward pass, and attention's share.
  const double tokens = 2 * 2048;
  CHECK(count.flops > 8 * parameters * tokens);
  CHECK(count.flops < 8.5 * parameters * tokens);
}
