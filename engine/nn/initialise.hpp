// First values of parameters. Element i of a parameter depends on (stream, i) only, and the stream
// on the seed and on what the parameter is, so any layout of ranks starts from the same numbers: a
// rank that holds a slice draws the slice.
#pragma once

#include <cstdint>
#include <string_view>

#include "engine/tensor/tensor.hpp"

namespace lockstep::nn {

// The stream of a named parameter.
std::uint64_t stream_of(std::uint64_t seed, std::string_view name);

// A part of a tensor that is seen as [outer, along, inner]: of along, [begin, end). So rows,
// columns, or the same rows of several matrices that lie one after the other.
struct Slice {
  std::int64_t outer = 1, along = 1, inner = 1;
  std::int64_t begin = 0, end = 1;
};

// Uniform in ±bound.
Tensor uniform(Shape shape, double bound, std::uint64_t stream, DType dtype, Device& device);
// Normal with mean 0, by the Box-Muller transform of two uniform numbers an element: [BM58].
Tensor normal(Shape shape, double deviation, std::uint64_t stream, DType dtype, Device& device);
// The part `slice` of what that would be, then zeros until the shape is full.
Tensor normal(Shape shape, double deviation, std::uint64_t stream, DType dtype, Device& device,
              const Slice& slice);
// One value everywhere.
Tensor constant(Shape shape, double value, DType dtype, Device& device);

}  // namespace lockstep::nn
