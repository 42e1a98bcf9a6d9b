// Attention to two blocks of keys as one, a query's head after the other.
#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/tensor/cpu/kernel_table.hpp"
#include "engine/tensor/cpu/visit_real.hpp"

namespace lockstep::kernels {

void merge_attention(const Tensor& block_output, const Tensor& block_log_sums, const Tensor& output,
                     const Tensor& log_sums) {
  visit_real(output, [&]<typename T>() {
    const std::int64_t heads = log_sums.size(1), tokens = log_sums.size(2);
    const std::int64_t size = output.size(2) / heads;
    const T* from = block_output.data<T>().data();
    T* to = output.data<T>().data();
    for (std::int64_t row = 0; row < output.numel() / size; ++row, from += size, to += size) {
      const std::int64_t head = row % heads, token = row / heads % tokens;
      const std::int64_t at = (row / heads / tokens * heads + head) * tokens + token;
      const T added = block_log_sums.data<T>()[static_cast<std::size_t>(at)];
      T& sum = log_sums.data<T>()[static_cast<std::size_t>(at)];
      if (added == -std::numeric_limits<T>::infinity()) continue;
      const T most = std::max(sum, added);
      const T before = std::exp(sum - most), share = std::exp(added - most);
      for (std::int64_t i = 0; i < size; ++i) {
        to[i] = (before * to[i] + share * from[i]) / (before + share);
      }
      sum = most + std::log(before + share);
    }
  });
}

}  // namespace lockstep::kernels
