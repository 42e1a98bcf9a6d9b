// Arithmetic on elements.
#include "engine/paper/nccl/values.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "engine/paper/lanes/half.hpp"

namespace lockstep::paper {
namespace {

struct TypeFacts {
  const char* name;
  std::size_t bytes;
};
constexpr std::array<TypeFacts, ncclNumTypes> types{{{"int8", 1},
                                                     {"uint8", 1},
                                                     {"int32", 4},
                                                     {"uint32", 4},
                                                     {"int64", 8},
                                                     {"uint64", 8},
                                                     {"float16", 2},
                                                     {"float32", 4},
                                                     {"float64", 8},
                                                     {"bfloat16", 2},
                                                     {"float8e4m3", 1},
                                                     {"float8e5m2", 1}}};

// How an element is computed with, and what it is then.
template <typename T>
T computed(T value) {
  return value;
}
float computed(Half value) { return to_float(value); }
float computed(BFloat value) { return to_float(value); }

template <typename T, typename Value>
T stored(Value value) {
  if constexpr (std::is_same_v<T, Half>) {
    return half_of(value);
  } else if constexpr (std::is_same_v<T, BFloat>) {
    return bfloat_of(value);
  } else {
    return static_cast<T>(value);
  }
}

template <typename T>
T loaded(const std::byte* values, std::size_t i) {
  T value;
  std::memcpy(&value, values + i * sizeof(T), sizeof(T));
  return value;
}

template <typename T, typename Function>
void each(std::byte* values, std::size_t count, Function function) {
  for (std::size_t i = 0; i < count; ++i) {
    const T result = function(i, loaded<T>(values, i));
    std::memcpy(values + i * sizeof(T), &result, sizeof(T));
  }
}

template <typename Function>
void with_type(ncclDataType_t type, Function function) {
  switch (type) {
    case ncclInt8:
      return function(std::int8_t{});
    case ncclUint8:
      return function(std::uint8_t{});
    case ncclInt32:
      return function(std::int32_t{});
    case ncclUint32:
      return function(std::uint32_t{});
    case ncclInt64:
      return function(std::int64_t{});
    case ncclUint64:
      return function(std::uint64_t{});
    case ncclFloat16:
      return function(Half{});
    case ncclFloat32:
      return function(float{});
    case ncclFloat64:
      return function(double{});
    case ncclBfloat16:
      return function(BFloat{});
    default:
      return;
  }
}

// Integers wrap around, as on the device.
template <typename T>
T add(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  } else {
    return a + b;
  }
}

template <typename T>
T multiply(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
  } else {
    return a * b;
  }
}

template <typename T>
T larger(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return std::max(a, b);
  } else {
    return std::fmax(a, b);
  }
}

template <typename T>
T smaller(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return std::min(a, b);
  } else {
    return std::fmin(a, b);
  }
}

template <typename Value>
Value combined(Value a, Value b, ncclRedOp_t op) {
  switch (op) {
    case ncclProd:
      return multiply(a, b);
    case ncclMax:
      return larger(a, b);
    case ncclMin:
      return smaller(a, b);
    default:
      return add(a, b);
  }
}

}  // namespace

std::size_t bytes_of(ncclDataType_t type) {
  return type < 0 || type >= ncclNumTypes ? 0 : types[static_cast<std::size_t>(type)].bytes;
}

const char* name_of(ncclDataType_t type) {
  return bytes_of(type) == 0 ? "no type" : types[static_cast<std::size_t>(type)].name;
}

const char* name_of(ncclRedOp_t op) {
  constexpr std::array<const char*, ncclNumOps> names{"sum", "prod", "max", "min", "avg"};
  return op < ncclNumOps ? names[static_cast<std::size_t>(op)] : "premulsum";
}

bool can_reduce(ncclDataType_t type) { return type < ncclFloat8e4m3; }
bool is_integer(ncclDataType_t type) { return type < ncclFloat16; }

double value_at(const std::byte* place, ncclDataType_t type) {
  double value = 0;
  with_type(type, [&](auto kind) {
    value = static_cast<double>(computed(loaded<decltype(kind)>(place, 0)));
  });
  return value;
}

void scale(std::byte* values, std::size_t count, ncclDataType_t type, double factor) {
  with_type(type, [&](auto kind) {
    using T = decltype(kind);
    const auto by = computed(stored<T>(factor));
    each<T>(values, count,
            [&](std::size_t, T value) { return stored<T>(multiply(computed(value), by)); });
  });
}

void divide(std::byte* values, std::size_t count, ncclDataType_t type, int by) {
  with_type(type, [&](auto kind) {
    using T = decltype(kind);
    if constexpr (std::is_integral_v<T>) {
      each<T>(values, count, [&](std::size_t, T value) {
        if constexpr (std::is_signed_v<T>) {
          return static_cast<T>(value / by);
        } else {
          return static_cast<T>(value / static_cast<unsigned>(by));
        }
      });
    }
  });
}

void combine(std::byte* values, const std::byte* others, std::size_t count, ncclDataType_t type,
             ncclRedOp_t op) {
  with_type(type, [&](auto kind) {
    using T = decltype(kind);
    each<T>(values, count, [&](std::size_t i, T value) {
      return stored<T>(combined(computed(value), computed(loaded<T>(others, i)), op));
    });
  });
}

}  // namespace lockstep::paper
