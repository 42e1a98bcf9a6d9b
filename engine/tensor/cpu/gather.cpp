// Embedding and dropout. Indices outside the table read as zeros and write nothing: they are
// another table's, or check_indices has reported them.
#include <algorithm>

#include "engine/base/random.hpp"
#include "engine/tensor/cpu/kernel_table.hpp"
#include "engine/tensor/cpu/visit_real.hpp"

namespace lockstep::kernels {

void embedding(const Tensor& table, const Tensor& indices, std::int64_t first, const Tensor& out) {
  const auto [count, columns] = rows_of(table);
  visit_real(table, [&, count = count, columns = columns]<typename T>() {
    const T* from = table.data<T>().data();
    T* to = out.data<T>().data();
    for (const std::int64_t number : indices.data<std::int64_t>()) {
      const std::int64_t index = number - first;
      const bool inside = index >= 0 && index < count;
      to = inside ? std::copy_n(from + index * columns, columns, to)
                  : std::fill_n(to, columns, T(0));
    }
  });
}

void embedding_backward(const Tensor& grad, const Tensor& indices, std::int64_t first,
                        const Tensor& out) {
  const auto [count, columns] = rows_of(out);
  visit_real(grad, [&, count = count, columns = columns]<typename T>() {
    const T* from = grad.data<T>().data();
    T* const table = out.data<T>().data();
    std::fill_n(table, out.numel(), T(0));
    for (const std::int64_t number : indices.data<std::int64_t>()) {
      const std::int64_t index = number - first;
      const bool inside = index >= 0 && index < count;
      T* to = table + (inside ? index * columns : 0);
      for (std::int64_t j = 0; inside && j < columns; ++j) to[j] += from[j];
      from += columns;
    }
  });
}

void dropout(const Tensor& x, const ops::DropoutMask& mask, const Tensor& y) {
  visit_real(x, [&]<typename T>() {
    const std::int64_t samples = x.size(0);
    const std::int64_t each = samples == 0 ? 0 : x.numel() / samples;
    const T keep = static_cast<T>(1 / (1 - mask.rate));
    const T* from = x.data<T>().data();
    T* to = y.data<T>().data();
    for (std::int64_t sample = 0; sample < samples; ++sample) {
      const auto number =
          static_cast<std::uint64_t>(mask.first_sample + sample * mask.sample_stride);
      const std::uint64_t stream = random_bits(mask.seed, number);
      for (std::int64_t i = 0; i < each; ++i) {
        const bool stays = random_uniform(stream, mask.element(i)) >= mask.rate;
        *to++ = stays ? *from * keep : T(0);
        ++from;
      }
    }
  });
}

}  // namespace lockstep::kernels
