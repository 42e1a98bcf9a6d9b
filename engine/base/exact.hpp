// Sums and products of 64-bit integers that are exact or refused. A signed overflow in C++ is no
// number at all; a plan that counts bytes of large models must not come near one unnoticed.
#pragma once

#include <cstdint>

#include "engine/base/error.hpp"

namespace lockstep {

//   Throws  ContractError when the result does not fit into 64 bits
inline std::int64_t exact_sum(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  const auto overflows = __builtin_add_overflow(a, b, &sum);
  LOCKSTEP_CHECK(!overflows, "exact_sum: ", a, " + ", b, " does not fit into 64 bits");
  return sum;
}

inline std::int64_t exact_product(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  const auto overflows = __builtin_mul_overflow(a, b, &product);
  LOCKSTEP_CHECK(!overflows, "exact_product: ", a, " * ", b, " does not fit into 64 bits");
  return product;
}

}  // namespace lockstep
