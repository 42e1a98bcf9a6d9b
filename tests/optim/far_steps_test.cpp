// Training on a device whose memory the host cannot read: the CPU's losses, gradients and
// weights, bit for bit, with the same peak of memory and no read.
#include <algorithm>

#include "engine/nn/gpt.hpp"
#include "engine/nn/mlp.hpp"
#include "engine/optim/optimizer.hpp"
#include "tests/catch.hpp"
#include "tests/tensor/far_device.hpp"

using namespace lockstep;

namespace {

struct Trained {
  std::vector<Tensor> tensors;
  std::int64_t peak_bytes;
};

// All that three steps leave behind.
Trained trained(nn::Module& model, optim::Optimizer& optimizer, const Tensor& x, const Tensor& y) {
  Device& device = x.device();
  Trained out;
  for (int step = 0; step < 3; ++step) {
    model.prepare({.mode = nn::Mode::training, .seed = 7, .step = step});
    Tape tape(GradMode::record);
    const Value loss = autograd::cross_entropy(tape, model.forward(tape, tape.constant(x)), y);
    tape.backward(loss);
    out.tensors.push_back(loss.tensor);
    for (const Parameter* p : model.parameters()) out.tensors.push_back(p->grad.clone());
    out.tensors.push_back(optim::clip_grad_norm(optimizer.parameters(), 0.5));
    optimizer.step();
    optimizer.zero_grad();
  }
  for (const Parameter* p : model.parameters()) out.tensors.push_back(p->value);
  out.peak_bytes = device.bytes_peak();
  return out;
}

Trained trained_gpt(DType dtype, nn::Keep keep, Device& device) {
  const nn::GptOptions options{.layers = 2,
                               .width = 16,
                               .heads = 2,
                               .sequence = 6,
                               .vocabulary = 11,
                               .dropout = 0.1,
                               .keep = keep};
  const auto model = nn::make_gpt(options, dtype, device, 3);
  const auto optimizer =
      optim::make_adamw(model->parameters(), {.weight_decay = 0.01, .decay_dims_min = 2});
  std::vector<double> tokens;
  for (int i = 0; i < 13; ++i) tokens.push_back(i * 7 % 11);
  const std::span<const double> all(tokens);
  return trained(*model, *optimizer, from_values(all.first(12), {2, 6}, DType::int64, device),
                 from_values(all.last(12), {2, 6}, DType::int64, device));
}

Trained trained_mlp(DType dtype, Device& device) {
  const std::int64_t widths[] = {5, 7, 3};
  const auto model = nn::make_mlp(widths, dtype, device, 3);
  const auto optimizer = optim::make_sgd(model->parameters(), {.momentum = 0.9});
  std::vector<double> x, y{0, 2, 1, 1};
  for (int i = 0; i < 20; ++i) x.push_back(i * 3 % 7 - 2.5);
  return trained(*model, *optimizer, from_values(x, {4, 5}, dtype, device),
                 from_values(y, {4}, DType::int64, device));
}

template <typename Train>
void check_same_training(const Train& train) {
  CpuDevice near;
  test::FarDevice far;
  const Trained wanted = train(near);
  const Trained launched = train(far);
  CHECK(far.host_reads() == 0);
  CHECK(launched.peak_bytes == wanted.peak_bytes);
  const std::vector<Tensor> seen = to_host(launched.tensors);
  REQUIRE(seen.size() == wanted.tensors.size());
  for (std::size_t i = 0; i < seen.size(); ++i) {
    CAPTURE(i);
    CHECK(std::ranges::equal(seen[i].raw_bytes(), wanted.tensors[i].raw_bytes()));
  }
}

}  // namespace

TEST_CASE("far: a GPT and an MLP are trained to the CPU's bits, and the host reads nothing") {
  for (const DType dtype : {DType::float32, DType::float64, DType::bfloat16}) {
    CAPTURE(name_of(dtype));
    for (const nn::Keep keep : {nn::Keep::activations, nn::Keep::block_inputs}) {
      check_same_training([&](Device& device) { return trained_gpt(dtype, keep, device); });
    }
    check_same_training([&](Device& device) { return trained_mlp(dtype, device); });
  }
}
