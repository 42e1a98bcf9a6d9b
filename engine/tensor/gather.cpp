#include "engine/tensor/gather.hpp"

#include <algorithm>
#include <cstring>

#include "engine/base/random.hpp"
#include "engine/tensor/operation.hpp"

namespace lockstep::ops {

Tensor embedding(const Tensor& table, const Tensor& indices) {
  check_matrix("embedding", table);
  const std::int64_t rows = table.size(0), columns = table.size(1);
  Shape shape = indices.shape();
  shape.push_back(columns);
  Tensor out = result(table, std::move(shape));
  visit_float("embedding", table, [&]<typename T>() {
    const T* from = table.data<T>().data();
    T* to = out.data<T>().data();
    for (const std::int64_t index : indices.data<std::int64_t>()) {
      LOCKSTEP_CHECK(index >= 0 && index < rows, "embedding: index ", index,
                     " is outside the table's ", rows, " rows; is the vocabulary the model's?");
      to = std::copy_n(from + index * columns, columns, to);
    }
  });
  charge(out, 0, 2);
  return out;
}

Tensor embedding_backward(const Tensor& grad, const Tensor& indices, std::int64_t rows) {
  const std::int64_t columns = rows_of("embedding_backward", grad).width;
  LOCKSTEP_CHECK(indices.numel() * columns == grad.numel(), "embedding_backward: ", indices.numel(),
                 " indices for a gradient of shape ", text_of(grad.shape()));
  Tensor out = result(grad, {rows, columns});
  out.fill_(0);
  visit_float("embedding_backward", grad, [&]<typename T>() {
    const T* from = grad.data<T>().data();
    for (const std::int64_t index : indices.data<std::int64_t>()) {
      LOCKSTEP_CHECK(index >= 0 && index < rows, "embedding_backward: index ", index,
                     " is outside the table's ", rows, " rows");
      T* to = out.data<T>().data() + index * columns;
      for (std::int64_t j = 0; j < columns; ++j) to[j] += *from++;
    }
  });
  charge(grad, 1, 2);
  return out;
}

Tensor dropout(const Tensor& x, const DropoutMask& mask) {
  LOCKSTEP_CHECK(mask.rate >= 0 && mask.rate < 1, "dropout: rate ", mask.rate,
                 " is outside [0, 1); it is the share of elements to drop");
  LOCKSTEP_CHECK(!x.shape().empty(), "dropout: a tensor of shape [] has no samples");
  Tensor y = result(x, x.shape());
  visit_float("dropout", x, [&]<typename T>() {
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
        const bool stays = random_uniform(stream, static_cast<std::uint64_t>(i)) >= mask.rate;
        *to++ = stays ? *from * keep : T(0);
        ++from;
      }
    }
  });
  charge(x, 10, 2);
  return y;
}

}  // namespace lockstep::ops
