// A program of operations, run on paper and on the CPU, whose kernels are the oracle: the results
// beside each other, and no finding of paper.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "engine/base/random.hpp"
#include "engine/base/text.hpp"
#include "engine/tensor/kernels.hpp"
#include "engine/tensor/ops.hpp"
#include "tests/gpu/on_paper.hpp"

namespace lockstep::test {

using Results = std::vector<Tensor>;
using Program = std::function<Results(Device& device)>;

// How far a result may be from the CPU's, in units of its dtype's last place at the magnitude of
// the result's largest element, or of `magnitude` where that is larger: of what was added and
// subtracted on the way. 0: the same bits.
struct Units {
  double units = 0;
  double magnitude = 0;
};
constexpr Units same_bits{0};

inline constexpr DType computed[] = {DType::float32, DType::float64, DType::bfloat16,
                                     DType::float16};
inline bool is_half(DType dtype) { return dtype == DType::bfloat16 || dtype == DType::float16; }

// The distance from 1 to the next number.
inline double unit_of(DType dtype) {
  switch (dtype) {
    case DType::float64:
      return 0x1p-52;
    case DType::bfloat16:
      return 0x1p-7;
    case DType::float16:
      return 0x1p-10;
    default:
      return 0x1p-23;
  }
}

// Integers over the whole range of their type. Their bits are drawn, because a float64 has not all
// of an int64's.
inline Tensor any_integers(Shape shape, DType dtype, Device& device, std::uint64_t stream) {
  Tensor drawn = empty(std::move(shape), dtype, device);
  std::vector<std::uint64_t> words(drawn.bytes() / sizeof(std::uint64_t) + 1);
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = random_bits(stream, i);
  const auto bytes = std::as_bytes(std::span(words)).first(drawn.bytes());
  if (device.on_host()) {
    std::ranges::copy(bytes, drawn.raw_bytes().begin());
  } else {
    device.kernels().upload(bytes, drawn);
  }
  return drawn;
}

// Any integers, or numbers between -2 and 2 with fractions; its own for each stream.
inline Tensor noise(Shape shape, DType dtype, Device& device, std::uint64_t stream = 0) {
  if (is_integer(dtype)) return any_integers(std::move(shape), dtype, device, stream);
  std::vector<double> values;
  for (std::int64_t i = 0; i < numel_of(shape); ++i) {
    values.push_back(4 * random_uniform(stream, static_cast<std::uint64_t>(i)) - 2);
  }
  return from_values(values, std::move(shape), dtype, device);
}

inline Tensor integers(const std::vector<double>& values, Device& device) {
  return from_values(values, {std::ssize(values)}, DType::int64, device);
}

inline Tensor drawn_indices(std::int64_t count, std::int64_t limit, Device& device) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < count; ++i) {
    values.push_back(static_cast<double>(random_bits(7, static_cast<std::uint64_t>(i)) %
                                         static_cast<std::uint64_t>(limit)));
  }
  return integers(values, device);
}

inline double largest_of(const Tensor& x) {
  double largest = 0;
  for (std::int64_t i = 0; i < x.numel(); ++i) {
    if (std::isfinite(x.item(i))) largest = std::max(largest, std::fabs(x.item(i)));
  }
  return largest;
}

// The largest distance of two elements, in units as above; infinite where one of them is not finite
// and the other another number.
inline double distance(const Tensor& seen, const Tensor& wanted, double magnitude = 0) {
  const double unit = unit_of(wanted.dtype()) * std::max(largest_of(wanted), magnitude);
  double largest = 0;
  for (std::int64_t i = 0; i < wanted.numel(); ++i) {
    const double a = seen.item(i), b = wanted.item(i);
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    const double apart = std::fabs(a - b) / unit;
    largest =
        std::max(largest, std::isnan(apart) ? std::numeric_limits<double>::infinity() : apart);
  }
  return largest;
}

// Whether element i has the same bits in both, or is a NaN: a GPU's float has only one, 0x7fffffff.
inline bool same_element(const Tensor& a, const Tensor& b, std::int64_t i) {
  const auto size = static_cast<std::size_t>(bytes_of(a.dtype()));
  const auto bits = [&](const Tensor& x) {
    return x.raw_bytes().subspan(size * static_cast<std::size_t>(i), size);
  };
  return std::ranges::equal(bits(a), bits(b)) || (std::isnan(a.item(i)) && std::isnan(b.item(i)));
}

// The first element that is too far away, as a sentence; empty where all are near.
inline std::string too_far(const Tensor& seen, const Tensor& wanted, Units allowed) {
  if (seen.shape() != wanted.shape() || seen.dtype() != wanted.dtype()) return "another shape";
  const double bound =
      allowed.units * unit_of(wanted.dtype()) * std::max(largest_of(wanted), allowed.magnitude);
  for (std::int64_t i = 0; i < wanted.numel(); ++i) {
    if (same_element(seen, wanted, i)) continue;
    const double a = seen.item(i), b = wanted.item(i);
    if (allowed.units != 0 && (a == b || std::fabs(a - b) <= bound)) continue;
    return text("element ", i, " of ", text_of(wanted.shape()), " is ", a, ", the CPU's ", b,
                "; allowed: ", allowed.units == 0 ? "its bits only" : text(bound));
  }
  return "";
}

//   allowed  of result i, which has that dtype
inline void check_beside(OnPaper& paper, const std::string& what, const Program& program,
                         const std::function<Units(std::size_t i, DType dtype)>& allowed) {
  INFO(what);
  CpuDevice cpu;
  const Results wanted = program(cpu);
  const Results seen = to_host(program(paper.device()));
  REQUIRE(seen.size() == wanted.size());
  for (std::size_t i = 0; i < seen.size(); ++i) {
    INFO("result " << i);
    CHECK(too_far(seen[i], wanted[i], allowed(i, wanted[i].dtype())) == "");
  }
  CHECK(paper.findings() == "");
}

//   units  of result i; the last one stands for all that follow
inline void check_beside(OnPaper& paper, const std::string& what, const Program& program,
                         const std::vector<Units>& units = {same_bits}) {
  check_beside(paper, what, program,
               [&](std::size_t i, DType) { return units[std::min(i, units.size() - 1)]; });
}

}  // namespace lockstep::test
