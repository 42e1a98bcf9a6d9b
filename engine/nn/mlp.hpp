// A multi-layer perceptron: linear layers with ReLU between them.
#pragma once

#include <memory>
#include <span>

#include "engine/nn/units.hpp"

namespace lockstep::nn {

// widths = {784, 256, 10} makes two linear layers: weights "0.weight" [256, 784], "0.bias" [256],
// "1.weight", "1.bias". Weights and biases are uniform in ±1/√fan_in (PyTorch's Linear), drawn by
// (seed, layer, element), so every rank layout starts from the same numbers.
std::unique_ptr<Module> make_mlp(std::span<const std::int64_t> widths, DType dtype, Device& device,
                                 std::uint64_t seed);

// Its units: "0", "1", …, a layer each; one that is not the first begins with the ReLU before it.
std::unique_ptr<Chain> make_mlp_units(std::span<const std::int64_t> widths, DType dtype,
                                      Device& device, std::uint64_t seed, UnitRange range);

}  // namespace lockstep::nn
