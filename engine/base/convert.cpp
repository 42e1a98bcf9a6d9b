#include "engine/base/convert.hpp"

#include <algorithm>
#include <array>

#include "engine/base/error.hpp"

namespace lockstep {
namespace {

constexpr std::size_t chunk_max = 512;  // elements: 4 KiB of float64 stay in the first cache
using Chunk = std::array<double, chunk_max>;

void read(DType dtype, const std::byte* from, std::span<double> to) {
  visit_dtype(dtype, [&]<typename T>() {
    const T* elements = reinterpret_cast<const T*>(from);
    for (std::size_t i = 0; i < to.size(); ++i) to[i] = static_cast<double>(elements[i]);
  });
}

void write(DType dtype, std::span<const double> from, std::byte* to) {
  visit_dtype(dtype, [&]<typename T>() {
    T* elements = reinterpret_cast<T*>(to);
    for (std::size_t i = 0; i < from.size(); ++i) elements[i] = element_of<T>(from[i]);
  });
}

// The conversions of mixed precision, which are many, in one step. They round as the others do.
template <typename From, typename To>
void directly(const std::byte* from, std::byte* to, std::size_t count) {
  convert(std::span(reinterpret_cast<const From*>(from), count),
          std::span(reinterpret_cast<To*>(to), count));
}

}  // namespace

void does_not_fit(double value, DType dtype) {
  throw ContractError(text(value, " cannot be an element of type ", name_of(dtype),
                           "; bring the values into its range first, or choose another dtype"));
}

void convert_elements(DType from_type, const std::byte* from, DType to_type, std::byte* to,
                      std::int64_t count) {
  const auto total = static_cast<std::size_t>(count);
  const auto is = [&](DType a, DType b) { return from_type == a && to_type == b; };
  if (is(DType::float32, DType::bfloat16)) return directly<float, BFloat16>(from, to, total);
  if (is(DType::float32, DType::float16)) return directly<float, Float16>(from, to, total);
  if (is(DType::bfloat16, DType::float32)) return directly<BFloat16, float>(from, to, total);
  if (is(DType::float16, DType::float32)) return directly<Float16, float>(from, to, total);
  if (from_type == to_type) {
    std::copy_n(from, total * bytes_of(to_type), to);
    return;
  }
  Chunk values;
  for (std::size_t done = 0; done < total; done += chunk_max) {
    const auto chunk = std::span(values).first(std::min(chunk_max, total - done));
    read(from_type, from + done * bytes_of(from_type), chunk);
    write(to_type, chunk, to + done * bytes_of(to_type));
  }
}

}  // namespace lockstep
