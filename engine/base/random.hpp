// Random numbers without state that hides: PyTorch's permutation, and a counter-based stream whose
// i-th value depends on (seed, i) only, so that any layout of ranks draws the same numbers.
#pragma once

#include <cstdint>
#include <vector>

namespace lockstep {

// The permutation that torch.randperm(n, generator seeded with `seed`) returns on CPU for
// n < 214,748,364, bit for bit. Only the low 32 bits of the seed count, as in PyTorch.
//   Source  PyTorch 1.13.1 aten/src/ATen/native/TensorFactories.cpp (randperm_cpu)
std::vector<std::int64_t> random_permutation(std::int64_t n, std::uint64_t seed);

// The index-th value of the stream `seed`: 64 well mixed bits (SplitMix64 over seed and index).
std::uint64_t random_bits(std::uint64_t seed, std::uint64_t index);

// The same as a number in [0, 1) with 53 random bits.
double random_uniform(std::uint64_t seed, std::uint64_t index);

}  // namespace lockstep
