#include "engine/nn/mlp.hpp"

#include <cmath>

#include "engine/autograd/operations.hpp"
#include "engine/base/random.hpp"
#include "engine/nn/initialise.hpp"

namespace lockstep::nn {
namespace {

class Mlp final : public Module {
 public:
  explicit Mlp(std::vector<Parameter> parameters) : parameters_(std::move(parameters)) {}

  Value forward(Tape& tape, const Value& input) override {
    Value x = input;
    for (std::size_t i = 0; i < parameters_.size(); i += 2) {
      if (i > 0) x = autograd::relu(tape, x);
      x = autograd::linear(tape, x, tape.leaf(parameters_[i]), tape.leaf(parameters_[i + 1]));
    }
    return x;
  }

  std::vector<Parameter*> parameters() override {
    std::vector<Parameter*> pointers;
    for (Parameter& parameter : parameters_) pointers.push_back(&parameter);
    return pointers;
  }

 private:
  std::vector<Parameter> parameters_;  // weight, bias, weight, bias, …; never resized
};

}  // namespace

std::unique_ptr<Module> make_mlp(std::span<const std::int64_t> widths, DType dtype, Device& device,
                                 std::uint64_t seed) {
  LOCKSTEP_CHECK(widths.size() >= 2, "make_mlp: ", widths.size(),
                 " widths make no layer; pass inputs, hidden widths and classes");
  for (const std::int64_t width : widths) {
    LOCKSTEP_CHECK(width >= 1, "make_mlp: a layer of width ", width, "; widths start at 1");
  }
  std::vector<Parameter> parameters;
  for (std::size_t layer = 0; layer + 1 < widths.size(); ++layer) {
    const std::int64_t inputs = widths[layer], outputs = widths[layer + 1];
    const double bound = 1 / std::sqrt(static_cast<double>(inputs));
    const std::string name = text(layer);
    parameters.push_back(
        {name + ".weight",
         uniform({outputs, inputs}, bound, random_bits(seed, 2 * layer), dtype, device),
         {},
         {}});
    parameters.push_back(
        {name + ".bias",
         uniform({outputs}, bound, random_bits(seed, 2 * layer + 1), dtype, device),
         {},
         {}});
  }
  return std::make_unique<Mlp>(std::move(parameters));
}

}  // namespace lockstep::nn
