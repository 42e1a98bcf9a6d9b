#include "engine/base/random.hpp"

#include <numeric>
#include <random>
#include <utility>

#include "engine/base/error.hpp"

namespace lockstep {

std::vector<std::int64_t> random_permutation(std::int64_t n, std::uint64_t seed) {
  LOCKSTEP_CHECK(n >= 0, "random_permutation: n is ", n, "; it counts elements");
  LOCKSTEP_CHECK(n < 214'748'364, "random_permutation: n is ", n,
                 "; from 214,748,364 on PyTorch uses another algorithm, which is not built here");
  std::mt19937 engine(static_cast<std::uint32_t>(seed));
  std::vector<std::int64_t> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  for (std::int64_t i = 0; i + 1 < n; ++i) {
    // One 32-bit draw a step; the bias of the modulo is PyTorch's.
    const auto z = static_cast<std::int64_t>(engine() % static_cast<std::uint64_t>(n - i));
    std::swap(order[static_cast<std::size_t>(i)], order[static_cast<std::size_t>(i + z)]);
  }
  return order;
}

std::uint64_t random_bits(std::uint64_t seed, std::uint64_t index) {
  auto mix = [](std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  };
  constexpr std::uint64_t golden = 0x9e3779b97f4a7c15ULL;
  return mix(mix(seed + golden) + golden * (index + 1));
}

double random_uniform(std::uint64_t seed, std::uint64_t index) {
  return static_cast<double>(random_bits(seed, index) >> 11) * 0x1.0p-53;
}

}  // namespace lockstep
