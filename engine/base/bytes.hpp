// Values to bytes and back, little-endian, for everything that crosses a process boundary.
// A Reader never trusts what it reads: every length is checked before it is used.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "engine/base/error.hpp"

namespace lockstep {

static_assert(std::endian::native == std::endian::little);

// Bytes that are not what a ByteReader was asked to find in them.
struct MalformedMessage : Error {
  using Error::Error;
};

using Bytes = std::vector<std::byte>;

class ByteWriter {
 public:
  template <typename T>
  requires std::is_arithmetic_v<T> || std::is_enum_v<T> ByteWriter& put(T value) {
    return raw(&value, sizeof value);
  }
  ByteWriter& put_text(const std::string& value);
  ByteWriter& put_bytes(std::span<const std::byte> value);
  template <typename T>
  ByteWriter& put_list(std::span<const T> values) {
    return put_bytes(std::as_bytes(values));
  }
  Bytes take() { return std::move(bytes_); }
  const Bytes& bytes() const { return bytes_; }

 private:
  ByteWriter& raw(const void* data, std::size_t size);
  Bytes bytes_;
};

class ByteReader {
 public:
  // The bytes must outlive the reader.
  explicit ByteReader(std::span<const std::byte> bytes) : rest_(bytes) {}

  template <typename T>
  requires std::is_arithmetic_v<T> || std::is_enum_v<T> T get() {
    T value;
    std::memcpy(&value, next(sizeof value).data(), sizeof value);
    return value;
  }
  // Texts and lists of a stranger have a cap: more bytes than that are malformed, too.
  std::string get_text(std::uint64_t bytes_max = ~std::uint64_t{0});
  std::span<const std::byte> get_bytes(std::uint64_t bytes_max = ~std::uint64_t{0});
  template <typename T>
  std::vector<T> get_list(std::uint64_t bytes_max = ~std::uint64_t{0}) {
    const auto part = get_bytes(bytes_max);
    if (part.size() % sizeof(T) != 0) {
      throw MalformedMessage("malformed message: a list ends inside an element");
    }
    std::vector<T> values(part.size() / sizeof(T));
    if (!values.empty()) std::memcpy(values.data(), part.data(), part.size());
    return values;
  }
  bool done() const { return rest_.empty(); }
  std::span<const std::byte> rest() const { return rest_; }

 private:
  std::span<const std::byte> next(std::uint64_t size);
  std::span<const std::byte> rest_;
};

// A 64-bit checksum (FNV-1a over 8-byte words): tells changed buffers, is no protection.
std::uint64_t checksum_of(std::span<const std::byte> bytes);

}  // namespace lockstep
