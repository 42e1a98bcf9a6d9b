// The values that the ranks of the all-reduce benchmark write before a call and must find after it.
// Every sum of integers this small is exact in float32, in whatever order it is added. tests/bench
// has the same for PyTorch.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "engine/base/text.hpp"

namespace lockstep::bench {

inline constexpr std::size_t period = 97;  // of the values, so that no two neighbours are equal

inline void write_values(std::span<float> data, int rank) {
  float base[period];
  for (std::size_t i = 0; i < period; ++i) base[i] = static_cast<float>((rank + 1) * (i + 1));
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = base[i % period];
}

// The sentence that says what is wrong with the sum over `ranks`, if anything is.
inline std::optional<std::string> wrong_sum(std::span<const float> data, int ranks) {
  const auto all = static_cast<std::size_t>(ranks) * static_cast<std::size_t>(ranks + 1) / 2;
  for (std::size_t i = 0; i < data.size(); ++i) {
    const auto expected = static_cast<float>(all * (i % period + 1));
    if (data[i] == expected) continue;  // NaN is not equal either
    return text("wrong sum: element ", i, " of ", data.size(), " is ", data[i], ", not ", expected);
  }
  return std::nullopt;
}

}  // namespace lockstep::bench
