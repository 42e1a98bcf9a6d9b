// One row of a softmax: what softmax and cross entropy have in common.
#pragma once

#include <cmath>

#include "engine/gpu/kernels/teams.cuh"

namespace lockstep::gpu {

// The row's largest element, and Σ e^(x - largest).
template <typename V>
struct RowSum {
  V largest, sum;
};

// y = e^(x - largest) / sum, by all lanes of a team.
template <typename T, int size>
__device__ RowSum<Wide<T>> write_softmax(const T* x, std::int64_t columns, T* y) {
  using Row = Team<size>;
  using V = Wide<T>;
  V largest = -static_cast<V>(INFINITY);
  for (std::int64_t j = Row::lane(); j < columns; j += size) {
    largest = Largest{}(largest, wide(x[j]));
  }
  largest = Row::largest(largest);
  V sum = 0;
  for (std::int64_t j = Row::lane(); j < columns; j += size) {
    sum += exponential(wide(x[j]) - largest);
  }
  sum = Row::sum(sum);
  const V factor = 1 / sum;
  for (std::int64_t j = Row::lane(); j < columns; j += size) {
    y[j] = static_cast<T>(exponential(wide(x[j]) - largest) * factor);
  }
  return {largest, sum};
}

}  // namespace lockstep::gpu
