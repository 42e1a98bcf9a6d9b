#include "grader/judge/compare.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <sstream>

namespace lockstep::grader {

namespace {

void require_whole_elements(std::size_t bytes, std::size_t size) {
  if (bytes % size != 0) throw MalformedMessage("malformed message: an element is cut off");
}

}  // namespace

std::vector<double> as_doubles(DType dtype, std::span<const std::byte> bytes) {
  require_whole_elements(bytes.size(), bytes_of(dtype));
  return visit_dtype(dtype, [&]<typename T>() {
    std::vector<double> values(bytes.size() / sizeof(T));
    for (std::size_t i = 0; i < values.size(); ++i) {
      T element;
      std::memcpy(&element, bytes.data() + i * sizeof(T), sizeof(T));
      values[i] = static_cast<double>(element);
    }
    return values;
  });
}

std::vector<double> as_doubles(DType dtype, const std::vector<Bytes>& buffers) {
  std::vector<double> all;
  for (const Bytes& buffer : buffers) {
    const auto values = as_doubles(dtype, buffer);
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

std::vector<std::int64_t> as_integers(std::span<const std::byte> bytes) {
  require_whole_elements(bytes.size(), sizeof(std::int64_t));
  std::vector<std::int64_t> values(bytes.size() / sizeof(std::int64_t));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(values[0]));
  return values;
}

Bytes to_bytes(DType dtype, std::span<const double> values) {
  Bytes bytes(values.size() * bytes_of(dtype));
  visit_dtype(dtype, [&]<typename T>() {
    for (std::size_t i = 0; i < values.size(); ++i) {
      const T element = static_cast<T>(values[i]);
      std::memcpy(bytes.data() + i * sizeof(T), &element, sizeof(T));
    }
  });
  return bytes;
}

std::optional<std::size_t> first_difference(std::span<const double> seen,
                                            std::span<const double> expected,
                                            std::span<const double> tolerance) {
  const std::size_t common = std::min(seen.size(), expected.size());
  const auto right = [](double a, double b, double allowed) {
    if (!std::isfinite(a) || !std::isfinite(b)) return a == b || (std::isnan(a) && std::isnan(b));
    return std::fabs(a - b) <= allowed;
  };
  for (std::size_t i = 0; i < common; ++i) {
    if (!right(seen[i], expected[i], tolerance[i])) return i;
  }
  if (seen.size() != expected.size()) return common;
  return std::nullopt;
}

std::optional<std::size_t> first_other_bits(std::span<const double> a, std::span<const double> b) {
  const auto same = [](double x, double y) {
    return std::bit_cast<std::uint64_t>(x) == std::bit_cast<std::uint64_t>(y) ||
           (std::isnan(x) && std::isnan(y));
  };
  const auto at = std::mismatch(a.begin(), a.end(), b.begin(), b.end(), same).first - a.begin();
  if (std::cmp_equal(at, a.size()) && a.size() == b.size()) return std::nullopt;
  return static_cast<std::size_t>(at);
}

std::string number(double value) {
  if (std::isnan(value)) return "NaN";
  if (value == std::round(value) && std::abs(value) < 0x1p53 && value != 0) {
    return text(static_cast<std::int64_t>(value));
  }
  const bool fits = std::abs(value) <= std::numeric_limits<float>::max();
  const bool is_float = fits && static_cast<float>(value) == value && value != std::round(value);
  std::ostringstream out;
  for (int digits : {6, 9, 17}) {
    out.str("");
    out.precision(digits);
    out << value;
    // Not std::stod, which throws at numbers below the smallest normal one.
    if (std::strtod(out.str().c_str(), nullptr) == value) break;
    if (is_float && digits == 9) break;  // six would not tell it from the float64 nearby
  }
  return out.str();
}

std::string number(double value, DType dtype) {
  if (is_integer(dtype)) return number(value);
  return number(as_doubles(dtype, to_bytes(dtype, {&value, 1})).front());
}

std::string number_at(std::span<const double> values, std::size_t at) {
  return at < values.size() ? number(values[at]) : "nothing";
}
std::string number_at(std::span<const double> values, std::size_t at, DType dtype) {
  return at < values.size() ? number(values[at], dtype) : "nothing";
}

std::string grouped(std::int64_t value) {
  std::string digits = std::to_string(value);
  const std::ptrdiff_t first = value < 0 ? 1 : 0;
  for (auto at = std::ssize(digits) - 3; at > first; at -= 3) {
    digits.insert(static_cast<std::size_t>(at), 1, ',');
  }
  return digits;
}

bool near(double seen, double expected) {
  return std::fabs(seen - expected) <= 1e-12 * std::fabs(expected);
}

double epsilon_of(DType dtype) {
  switch (dtype) {
    case DType::float32:
      return std::numeric_limits<float>::epsilon();
    case DType::float64:
      return std::numeric_limits<double>::epsilon();
    case DType::bfloat16:
      return 0x1p-7;
    case DType::float16:
      return 0x1p-10;
    case DType::int64:
    case DType::int32:
    case DType::int8:
    case DType::uint8:
      break;
  }
  return 0;
}

}  // namespace lockstep::grader
