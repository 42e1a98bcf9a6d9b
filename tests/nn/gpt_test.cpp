#include "engine/nn/gpt.hpp"

#include <cmath>
#include <vector>

#include "engine/base/random.hpp"
#include "engine/tensor/ops.hpp"
#include "engine/tensor/symbolic.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using lockstep::test::contains;

namespace {

constexpr nn::GptOptions small{
    .layers = 2, .width = 16, .heads = 2, .sequence = 6, .vocabulary = 11};

Tensor tokens(std::int64_t batch, std::int64_t length, std::uint64_t seed, Device& device) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < batch * length; ++i) {
    values.push_back(static_cast<double>(random_bits(seed, static_cast<std::uint64_t>(i)) % 11));
  }
  return from_values(values, {batch, length}, DType::int64, device);
}

std::vector<double> values_of(const Tensor& tensor) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < tensor.numel(); ++i) values.push_back(tensor.item(i));
  return values;
}

// The loss, after the gradients have been added to the model's.
double pass(nn::Module& model, const Tensor& x, const Tensor& y) {
  Tape tape(GradMode::record);
  const Value loss = autograd::cross_entropy(tape, model.forward(tape, tape.constant(x)), y);
  tape.backward(loss);
  return loss.tensor.item();
}

}  // namespace

TEST_CASE("gpt: the count of parameters is the formula's, and names are GPT-2's") {
  CpuDevice device;
  const auto count = [&](nn::OutputHead head) {
    nn::GptOptions options = small;
    options.head = head;
    return nn::count_of(*nn::make_gpt(options, DType::float32, device, 0));
  };
  const std::int64_t L = 2, C = 16, T = 6, V = 11;
  CHECK(count(nn::OutputHead::tied) == 12 * L * C * C + 13 * L * C + (V + T) * C + 2 * C);
  CHECK(count(nn::OutputHead::untied) == count(nn::OutputHead::tied) + V * C);

  std::vector<std::string> names;
  const auto model = nn::make_gpt(small, DType::float32, device, 0);
  for (const Parameter* p : model->parameters()) names.push_back(p->name);
  CHECK(std::vector(names.begin(), names.begin() + 14) ==
        std::vector<std::string>{
            "wte.weight", "wpe.weight", "h.0.ln_1.weight", "h.0.ln_1.bias",
            "h.0.attn.c_attn.weight", "h.0.attn.c_attn.bias", "h.0.attn.c_proj.weight",
            "h.0.attn.c_proj.bias", "h.0.ln_2.weight", "h.0.ln_2.bias", "h.0.mlp.c_fc.weight",
            "h.0.mlp.c_fc.bias", "h.0.mlp.c_proj.weight", "h.0.mlp.c_proj.bias"});
  CHECK(names.back() == "ln_f.bias");
}

TEST_CASE("gpt: on a device without numbers it has its memory and its price") {
  // GPT-2's smallest published model: 124,439,808 parameters with a tied head.
  const nn::GptOptions gpt2{
      .layers = 12, .width = 768, .heads = 12, .sequence = 1024, .vocabulary = 50257};
  SymbolicDevice device;
  const auto model = nn::make_gpt(gpt2, DType::float32, device, 0);
  CHECK(nn::count_of(*model) == 124'439'808);
  CHECK(device.bytes_now(MemoryKind::parameters) == 4 * 124'439'808);
  const Tensor x = empty({1, 1024}, DType::int64, device),
               y = empty({1, 1024}, DType::int64, device);
  Tape tape(GradMode::record);
  tape.backward(autograd::cross_entropy(tape, model->forward(tape, tape.constant(x)), y));
  CHECK(device.bytes_now(MemoryKind::gradients) == 4 * 124'439'808);
  // Six FLOPs a token and weight that is multiplied, and attention beside: [KMH20] §2.1.
  const double weights = 12.0 * 12 * 768 * 768 + 768.0 * 50257;
  CHECK(device.flops() > 6 * weights * 1024);
  CHECK(device.flops() < 6 * weights * 1024 * 1.25);
}

TEST_CASE("gpt: the start depends on seed and name, has its deviation, and fits log V") {
  CpuDevice device;
  nn::GptOptions wide = small;
  wide.width = 64;
  const auto model = nn::make_gpt(wide, DType::float64, device, 1);
  CHECK(nn::hash_of(*model) == nn::hash_of(*nn::make_gpt(wide, DType::float64, device, 1)));
  CHECK(nn::hash_of(*model) != nn::hash_of(*nn::make_gpt(wide, DType::float64, device, 2)));
  nn::GptOptions deeper = wide;
  deeper.layers = 3;
  const auto third = nn::make_gpt(deeper, DType::float64, device, 1);
  // A layer's numbers do not depend on how many there are, but for the scale at the branch's end.
  CHECK(values_of(third->parameters()[4]->value) == values_of(model->parameters()[4]->value));
  for (const Parameter* p : model->parameters()) {
    if (p->value.numel() < 1000) continue;
    const double count = static_cast<double>(p->value.numel());
    const double deviation = std::sqrt(ops::sum_of_squares(std::vector{p->value}).item() / count);
    const double expected = (p->name.find("c_proj") != std::string::npos) ? 0.02 / 2 : 0.02;
    CAPTURE(p->name);
    // The deviation of n draws deviates by 1/√(2n); this is four of them.
    CHECK(std::abs(deviation / expected - 1) < 4 / std::sqrt(2 * count));
  }
  CHECK(std::abs(pass(*model, tokens(4, 6, 1, device), tokens(4, 6, 2, device)) - std::log(11)) <
        0.05);
}

TEST_CASE("gpt: a token's logits depend on what came before it and on nothing after") {
  CpuDevice device;
  const auto model = nn::make_gpt(small, DType::float64, device, 3);
  const auto logits = [&](const Tensor& x) {
    Tape tape(GradMode::inference);
    return values_of(model->forward(tape, tape.constant(x)).tensor);
  };
  const Tensor x = tokens(1, 6, 4, device), other = x.clone();
  other.data<std::int64_t>()[3] = (x.data<std::int64_t>()[3] + 1) % 11;
  const auto before = logits(x), after = logits(other);
  for (std::size_t t = 0; t < 6; ++t) {
    const bool same = std::equal(before.begin() + static_cast<std::ptrdiff_t>(11 * t),
                                 before.begin() + static_cast<std::ptrdiff_t>(11 * (t + 1)),
                                 after.begin() + static_cast<std::ptrdiff_t>(11 * t));
    CAPTURE(t);
    CHECK(same == (t < 3));
  }
  // A shorter sequence is the beginning of the longer one.
  const auto shorter = logits(x.view({6}).narrow(0, 4).view({1, 4}));
  for (std::size_t i = 0; i < shorter.size(); ++i) CHECK(std::abs(shorter[i] - before[i]) < 1e-14);
}

TEST_CASE("gpt: keeping the blocks' inputs only gives the same gradients in less memory") {
  for (const double dropout : {0.0, 0.2}) {
    std::vector<std::vector<double>> grads[2];
    std::int64_t peaks[2];
    for (const int i : {0, 1}) {
      CpuDevice device;
      nn::GptOptions options = small;
      options.layers = 4;
      options.dropout = dropout;
      options.keep = i == 0 ? nn::Keep::activations : nn::Keep::block_inputs;
      const auto model = nn::make_gpt(options, DType::float64, device, 5);
      model->prepare({nn::Mode::training, 9, 2, 0, 1});
      pass(*model, tokens(3, 6, 6, device), tokens(3, 6, 7, device));
      for (const Parameter* p : model->parameters()) grads[i].push_back(values_of(p->grad));
      peaks[i] = device.bytes_peak(MemoryKind::activations);
    }
    CHECK(grads[0] == grads[1]);
    CHECK(peaks[1] < peaks[0]);
  }
}

TEST_CASE("gpt: dropout acts in training only, and two ranks drop what one would") {
  CpuDevice device;
  nn::GptOptions options = small;
  options.dropout = 0.3;
  const auto model = nn::make_gpt(options, DType::float64, device, 8);
  const Tensor x = tokens(4, 6, 9, device);
  const auto logits_now = [&](const Tensor& in) {
    Tape tape(GradMode::inference);
    return values_of(model->forward(tape, tape.constant(in)).tensor);
  };
  const auto logits = [&](const Tensor& in, const nn::Occasion& occasion) {
    model->prepare(occasion);
    return logits_now(in);
  };
  const auto of_a_new_model = logits_now(x);
  CHECK(of_a_new_model == logits(x, {.mode = nn::Mode::training}));
  const auto still = logits(x, {});
  CHECK(still != of_a_new_model);
  const auto whole = logits(x, {nn::Mode::training, 1, 5, 0, 1});
  CHECK(still != whole);
  CHECK(logits(x, {nn::Mode::training, 1, 6, 0, 1}) != whole);
  for (const int rank : {0, 1}) {  // samples rank and rank + 2
    const Tensor mine = empty({2, 6}, DType::int64, device);
    mine.narrow(0, 1).copy_(x.narrow(rank, 1));
    mine.narrow(1, 1).copy_(x.narrow(rank + 2, 1));
    const auto half = logits(mine, {nn::Mode::training, 1, 5, rank, 2});
    for (std::size_t i = 0; i < half.size(); ++i) {
      const std::size_t sample = static_cast<std::size_t>(rank) + 2 * (i / 66);
      CHECK(std::abs(half[i] - whole[sample * 66 + i % 66]) < 1e-13);
    }
  }
}

TEST_CASE("gpt: sizes and tokens that do not fit are refused") {
  CpuDevice device;
  nn::GptOptions options = small;
  options.heads = 3;
  CHECK_THROWS_WITH(nn::make_gpt(options, DType::float32, device, 0),
                    contains("3 heads do not divide the width 16"));
  options.heads = 0;
  CHECK_THROWS_AS(nn::make_gpt(options, DType::float32, device, 0), ContractError);
  const auto model = nn::make_gpt(small, DType::float32, device, 0);
  Tape tape(GradMode::inference);
  CHECK_THROWS_WITH(model->forward(tape, tape.constant(tokens(1, 7, 1, device))),
                    contains("[1, 7], expected [batch, up to 6]"));
  const Tensor beyond = full({1, 2}, 11, DType::int64, device);
  CHECK_THROWS_WITH(model->forward(tape, tape.constant(beyond)), contains("index 11"));
}
