// A GPT whose units lie on several devices, as run_split runs it, against one device that has all
// of them.
#include <map>

#include "engine/base/random.hpp"
#include "engine/nn/model_spec.hpp"
#include "engine/parallel/pipeline/split_model.hpp"
#include "engine/tensor/ops.hpp"
#include "tests/catch.hpp"
#include "tests/train/fiber_ranks.hpp"

using namespace lockstep;

namespace {

constexpr std::int64_t batch = 3, tokens = 8, vocabulary = 11, width = 16;
constexpr std::uint64_t seed = 7;

nn::ModelSpec spec() {
  nn::ModelSpec spec;
  spec.kind = nn::ModelKind::gpt;
  spec.gpt.vocabulary = vocabulary;
  spec.gpt.sequence = tokens;
  spec.gpt.width = width;
  spec.gpt.layers = 3;
  spec.gpt.heads = 2;
  spec.gpt.head = nn::OutputHead::untied;
  return spec;
}

Tensor drawn_tokens(std::uint64_t from, Device& device) {
  std::vector<double> values;
  for (std::uint64_t i = 0; i < batch * tokens; ++i) {
    values.push_back(static_cast<double>(random_bits(from, i) % vocabulary));
  }
  return from_values(values, {batch, tokens}, DType::int64, device);
}

// Units of the model, one to a layer; each keeps its tape between its two passes.
class UnitLayers final : public pipeline::Layers {
 public:
  UnitLayers(std::span<const int> device_of_layer, int me, Device& device) : device_(device) {
    last_ = static_cast<int>(device_of_layer.size()) - 1;
    for (int layer = 0; layer <= last_; ++layer) {
      if (device_of_layer[static_cast<std::size_t>(layer)] != me) continue;
      units_[layer].module = nn::make_units(spec(), device, seed, {layer, 1});
    }
  }

  Tensor make_input(int) override { return hidden(); }
  Tensor make_gradient(int) override { return hidden(); }
  Tensor forward(int layer, const Tensor& input) override {
    Unit& unit = units_.at(layer);
    unit.input = layer == 0 ? unit.tape.constant(drawn_tokens(1, device_)) : unit.tape.input(input);
    unit.output = unit.module->forward(unit.tape, unit.input);
    if (layer == last_) {
      unit.output = autograd::cross_entropy(unit.tape, unit.output, drawn_tokens(2, device_));
    }
    return unit.output.tensor;
  }
  Tensor backward(int layer, const Tensor& gradient) override {
    Unit& unit = units_.at(layer);
    if (layer == last_) {
      unit.tape.backward(unit.output);
    } else {
      unit.tape.backward(unit.output, gradient);
    }
    return layer == 0 ? Tensor() : unit.tape.gradient_of(unit.input);
  }

  std::map<std::string, std::vector<double>> gradients() const {
    std::map<std::string, std::vector<double>> all;
    for (const auto& [layer, unit] : units_) {
      for (const Parameter* parameter : unit.module->parameters()) {
        for (std::int64_t i = 0; i < parameter->grad.numel(); ++i) {
          all[parameter->name].push_back(parameter->grad.item(i));
        }
      }
    }
    return all;
  }

 private:
  struct Unit {
    std::unique_ptr<nn::Chain> module;
    Tape tape{GradMode::record};
    Value input, output;
  };
  Tensor hidden() const { return empty({batch, tokens, width}, DType::float32, device_); }

  Device& device_;
  int last_ = 0;
  std::map<int, Unit> units_;
};

struct Run {
  double loss = 0;
  std::map<std::string, std::vector<double>> gradients;
};

Run run(int devices, const std::vector<int>& device_of_layer) {
  Run all;
  test::on_fibers(devices, [&](comm::ProcessGroup& group) {
    CpuDevice device;
    UnitLayers mine(device_of_layer, group.rank(), device);
    const auto split = pipeline::run_split(group, device_of_layer, mine);
    if (split.loss.defined()) all.loss = split.loss.item();
    all.gradients.merge(mine.gradients());
  });
  return all;
}

}  // namespace

TEST_CASE("a GPT split over devices has the loss and the gradients of one device, bit for bit") {
  const std::vector<int> on_one(static_cast<std::size_t>(nn::unit_count(spec())), 0);
  const Run one = run(1, on_one);
  REQUIRE(one.gradients.size() > 20);
  for (const auto& [devices, map] :
       {std::pair{2, std::vector{0, 1, 0, 0, 1}}, std::pair{2, std::vector{0, 0, 1, 1, 1}},
        std::pair{3, std::vector{2, 0, 1, 0, 2}}, std::pair{4, std::vector{3, 1, 1, 0, 0}}}) {
    REQUIRE(map.size() == on_one.size());
    const Run split = run(devices, map);
    CHECK(split.loss == one.loss);
    CHECK(split.gradients == one.gradients);
  }
}

TEST_CASE("a layer on a device that there is not is refused, and so is a model without layers") {
  test::on_fibers(2, [](comm::ProcessGroup& group) {
    CpuDevice device;
    const std::vector<int> map{0, 2};
    UnitLayers none({}, group.rank(), device);
    CHECK_THROWS_WITH(pipeline::run_split(group, map, none),
                      test::contains("layer 1 is to lie on device 2"));
    CHECK_THROWS_AS(pipeline::run_split(group, {}, none), ContractError);
  });
}
