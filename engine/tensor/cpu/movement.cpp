// Kernels of every dtype: what moves elements, and what looks at them as bytes or numbers.
#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>

#include "engine/base/bytes.hpp"
#include "engine/base/convert.hpp"
#include "engine/tensor/cpu/kernel_table.hpp"

namespace lockstep::kernels {

void copy(const Tensor& from, const Tensor& to) {
  // memmove: the two may be overlapping windows of one storage.
  if (to.numel() > 0) std::memmove(to.raw_bytes().data(), from.raw_bytes().data(), to.bytes());
}

void copy_runs(const Tensor& from, const Runs& runs, const Tensor& to) {
  const auto size = static_cast<std::int64_t>(bytes_of(from.dtype()));
  const auto bytes = static_cast<std::size_t>(runs.length * size);
  if (bytes == 0) return;
  const std::byte* source = from.raw_bytes().data() + runs.from_start * size;
  std::byte* target = to.raw_bytes().data() + runs.to_start * size;
  for (std::int64_t i = 0; i < runs.count; ++i) {
    std::memcpy(target + i * runs.to_step * size, source + i * runs.from_step * size, bytes);
  }
}

void exchange(const Tensor& from, const Exchange& axes, const Tensor& to) {
  const auto [outer, a, middle, b, inner] = axes;
  const std::size_t run = static_cast<std::size_t>(inner) * bytes_of(from.dtype());
  const std::byte* source = from.raw_bytes().data();
  std::byte* target = to.raw_bytes().data();
  for (std::int64_t o = 0; o < outer; ++o) {
    for (std::int64_t j = 0; j < b; ++j) {
      for (std::int64_t m = 0; m < middle; ++m) {
        for (std::int64_t i = 0; i < a; ++i) {
          const auto at = static_cast<std::size_t>(((o * a + i) * middle + m) * b + j);
          std::memcpy(target, source + at * run, run);
          target += run;
        }
      }
    }
  }
}

void reduce(const Tensor& operand, ReduceOp op, const Tensor& into) {
  reduce_elements(into.dtype(), op, into.raw_bytes().data(), operand.raw_bytes().data(),
                  into.numel());
}

void fill(double value, const Tensor& to) {
  visit_dtype(to.dtype(),
              [&]<typename T>() { std::ranges::fill(to.data<T>(), element_of<T>(value)); });
}

void scale(const Tensor& x, double factor) {
  visit_dtype(x.dtype(), [&]<typename T>() {
    // The arithmetic type of a half is float32.
    using Wide = std::conditional_t<sizeof(T) == 2, float, T>;
    const auto by = static_cast<Wide>(factor);
    for (T& element : x.data<T>()) element = static_cast<T>(static_cast<Wide>(element) * by);
  });
}

void convert(const Tensor& from, const Tensor& to) {
  convert_elements(from.dtype(), from.raw_bytes().data(), to.dtype(), to.raw_bytes().data(),
                   to.numel());
}

void checksum(const Tensor& x, const Tensor& sum) {
  sum.data<std::int64_t>()[0] = std::bit_cast<std::int64_t>(checksum_of(x.raw_bytes()));
}

void upload(std::span<const std::byte> from, const Tensor& to) {
  std::ranges::copy(from, to.raw_bytes().begin());
}

void download(const Tensor& from, std::span<std::byte> to) {
  std::ranges::copy(from.raw_bytes(), to.begin());
}

void check_indices(const Tensor& indices, const IndexRule& rule) {
  const auto values = indices.data<std::int64_t>();
  bool some = false;
  for (std::size_t place = 0; place < values.size(); ++place) {
    if (values[place] == rule.ignored) continue;
    if (values[place] < 0 || values[place] >= rule.limit) {
      rule.outside(rule.operation, static_cast<std::int64_t>(place), values[place], rule.limit);
    }
    some = true;
  }
  if (!some && rule.some == IndexRule::Some::needed) {
    rule.outside(rule.operation, -1, 0, rule.limit);
  }
}

}  // namespace lockstep::kernels
