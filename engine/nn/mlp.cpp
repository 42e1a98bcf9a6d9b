#include "engine/nn/mlp.hpp"

#include <cmath>

#include "engine/autograd/operations.hpp"
#include "engine/base/random.hpp"
#include "engine/nn/initialise.hpp"

namespace lockstep::nn {
namespace {

class LayerUnit final : public Module {
 public:
  LayerUnit(std::size_t number, Parameter weight, Parameter bias)
      : number_(number), weight_(std::move(weight)), bias_(std::move(bias)) {}

  Value forward(Tape& tape, const Value& input) override {
    const Value x = number_ > 0 ? autograd::relu(tape, input) : input;
    const Value weight = tape.leaf(weight_);
    return autograd::linear(tape, x, weight, tape.leaf(bias_));
  }

  std::vector<Parameter*> parameters() override { return {&weight_, &bias_}; }

 private:
  std::size_t number_;
  Parameter weight_, bias_;
};

}  // namespace

std::unique_ptr<Chain> make_mlp_units(std::span<const std::int64_t> widths, DType dtype,
                                      Device& device, std::uint64_t seed, UnitRange range) {
  LOCKSTEP_CHECK(widths.size() >= 2, "make_mlp: ", widths.size(),
                 " widths make no layer; pass inputs, hidden widths and classes");
  for (const std::int64_t width : widths) {
    LOCKSTEP_CHECK(width >= 1, "make_mlp: a layer of width ", width, "; widths start at 1");
  }
  check_range(range, std::ssize(widths) - 1);
  std::vector<Unit> units;
  const auto first = static_cast<std::size_t>(range.first);
  for (std::size_t layer = first; layer < first + static_cast<std::size_t>(range.count); ++layer) {
    const std::int64_t inputs = widths[layer], outputs = widths[layer + 1];
    const double bound = 1 / std::sqrt(static_cast<double>(inputs));
    const std::string name = text(layer);
    Parameter weight{name + ".weight",
                     uniform({outputs, inputs}, bound, random_bits(seed, 2 * layer), dtype, device),
                     {},
                     {}};
    Parameter bias{name + ".bias",
                   uniform({outputs}, bound, random_bits(seed, 2 * layer + 1), dtype, device),
                   {},
                   {}};
    units.push_back({name, std::make_unique<LayerUnit>(layer, std::move(weight), std::move(bias))});
  }
  return std::make_unique<Chain>(std::move(units));
}

std::unique_ptr<Module> make_mlp(std::span<const std::int64_t> widths, DType dtype, Device& device,
                                 std::uint64_t seed) {
  return make_mlp_units(widths, dtype, device, seed, {0, std::ssize(widths) - 1});
}

}  // namespace lockstep::nn
