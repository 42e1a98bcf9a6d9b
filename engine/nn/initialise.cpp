#include "engine/nn/initialise.hpp"

#include <cmath>
#include <numbers>
#include <span>
#include <utility>

#include "engine/base/bytes.hpp"
#include "engine/base/random.hpp"

namespace lockstep::nn {
namespace {

// Element i is draw(i), computed in float64 and rounded once.
template <typename Draw>
Tensor drawn(Shape shape, DType dtype, Device& device, const Draw& draw) {
  if (!device.has_numbers()) return zeros(std::move(shape), dtype, device, MemoryKind::parameters);
  std::vector<double> values(static_cast<std::size_t>(numel_of(shape)));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = draw(i);
  return from_values(values, std::move(shape), dtype, device, MemoryKind::parameters);
}

// The i-th of a stream.
double normal_number(std::uint64_t stream, std::uint64_t i, double deviation) {
  // 1 - u lies in (0, 1], so the logarithm is finite.
  const double radius = std::sqrt(-2 * std::log(1 - random_uniform(stream, 2 * i)));
  const double angle = 2 * std::numbers::pi * random_uniform(stream, 2 * i + 1);
  return deviation * radius * std::cos(angle);
}

}  // namespace

std::uint64_t stream_of(std::uint64_t seed, std::string_view name) {
  return random_bits(seed, checksum_of(std::as_bytes(std::span(name))));
}

Tensor uniform(Shape shape, double bound, std::uint64_t stream, DType dtype, Device& device) {
  return drawn(std::move(shape), dtype, device,
               [=](std::uint64_t i) { return (2 * random_uniform(stream, i) - 1) * bound; });
}

Tensor normal(Shape shape, double deviation, std::uint64_t stream, DType dtype, Device& device) {
  return drawn(std::move(shape), dtype, device,
               [=](std::uint64_t i) { return normal_number(stream, i, deviation); });
}

Tensor normal(Shape shape, double deviation, std::uint64_t stream, DType dtype, Device& device,
              const Shape& whole, const Boxes& boxes) {
  if (!device.has_numbers()) return zeros(std::move(shape), dtype, device, MemoryKind::parameters);
  std::vector<double> values;
  for (const Box& box : boxes) {
    for_runs(whole, box, [&](std::int64_t first, std::int64_t count) {
      for (std::int64_t i = first; i < first + count; ++i) {
        values.push_back(normal_number(stream, static_cast<std::uint64_t>(i), deviation));
      }
    });
  }
  values.resize(static_cast<std::size_t>(numel_of(shape)));
  return from_values(values, std::move(shape), dtype, device, MemoryKind::parameters);
}

Tensor constant(Shape shape, double value, DType dtype, Device& device) {
  return full(std::move(shape), value, dtype, device, MemoryKind::parameters);
}

}  // namespace lockstep::nn
