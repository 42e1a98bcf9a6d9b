// First values of parameters. Element i of a parameter depends on (stream, i) only, and the stream
// on the seed and on what the parameter is, so any layout of ranks starts from the same numbers: a
// rank that holds a slice draws the slice.
#pragma once

#include <cstdint>
#include <string_view>

#include "engine/tensor/box.hpp"

namespace lockstep::nn {

// The stream of a named parameter.
std::uint64_t stream_of(std::uint64_t seed, std::string_view name);

// Uniform in ±bound.
Tensor uniform(Shape shape, double bound, std::uint64_t stream, DType dtype, Device& device);
// Normal with mean 0, by the Box-Muller transform of two uniform numbers an element: [BM58].
Tensor normal(Shape shape, double deviation, std::uint64_t stream, DType dtype, Device& device);
// The elements of `boxes` of what that would be in the shape `whole`, and then zeros to fill
// `shape`.
Tensor normal(Shape shape, double deviation, std::uint64_t stream, DType dtype, Device& device,
              const Shape& whole, const Boxes& boxes);
// One value everywhere.
Tensor constant(Shape shape, double value, DType dtype, Device& device);

}  // namespace lockstep::nn
