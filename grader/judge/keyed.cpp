#include "grader/judge/keyed.hpp"

#include <numeric>
#include <utility>

namespace lockstep::grader {

std::uint64_t keyed_bits(std::uint64_t key, std::uint64_t index) {
  return keyed_hash(key, 0, index);
}

double keyed_uniform(std::uint64_t key, std::uint64_t index) {
  return static_cast<double>(keyed_bits(key, index) >> 11) * 0x1.0p-53;
}

std::vector<std::int64_t> keyed_order(std::int64_t count, std::uint64_t key) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t left = order.size(); left > 1; --left) {
    std::swap(order[left - 1], order[keyed_bits(key, left) % left]);
  }
  return order;
}

}  // namespace lockstep::grader
