// A struct's fields, listed once, written and read by the same list:
//
//   template <typename Archive>
//   void fields(Archive& archive, Endpoint& endpoint) {
//     archive(endpoint.host, endpoint.port);
//   }
//
// The list is found by argument-dependent lookup. Numbers, truth values, enumerations, texts, and
// vectors, arrays, maps and optionals of what has fields need no list of their own. Reading trusts
// nothing, as ByteReader does; a type that cannot hold just any values of its fields has
// check_fields(value) beside the list, which throws MalformedMessage, or mends what it can.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "engine/base/bytes.hpp"
#include "engine/base/dtype.hpp"

namespace lockstep {

// Types that are copied as they lie in memory: one value, or a vector of them at once.
template <typename T>
constexpr bool plain_field = std::is_arithmetic_v<T> || std::is_enum_v<T>;
template <typename T>
constexpr bool plain_elements = plain_field<T> && !std::is_same_v<T, bool>;

inline void check_fields(DType& dtype) {
  if (dtype > all_dtypes.back()) throw MalformedMessage("malformed message: no such element type");
}

class FieldWriter {
 public:
  explicit FieldWriter(ByteWriter& out) : out_(out) {}

  template <typename... T>
  void operator()(const T&... values) {
    (put(values), ...);
  }

 private:
  template <typename T>
  void put(const T& value) {
    if constexpr (plain_field<T>) {
      out_.put(value);
    } else {
      fields(*this, const_cast<T&>(value));  // the list is one for both directions
    }
  }
  void put(const std::string& value) { out_.put_text(value); }
  template <typename T>
  void put(const std::vector<T>& values) {
    if constexpr (plain_elements<T>) {
      out_.put_list(std::span<const T>(values));
    } else {
      out_.put(static_cast<std::uint64_t>(values.size()));
      for (const T& value : values) put(value);
    }
  }
  template <typename T, std::size_t n>
  void put(const std::array<T, n>& values) {
    for (const T& value : values) put(value);
  }
  template <typename K, typename V>
  void put(const std::map<K, V>& values) {
    out_.put(static_cast<std::uint64_t>(values.size()));
    for (const auto& [key, value] : values) (*this)(key, value);
  }
  template <typename T>
  void put(const std::optional<T>& value) {
    out_.put(value.has_value());
    if (value) put(*value);
  }

  ByteWriter& out_;
};

class FieldReader {
 public:
  explicit FieldReader(ByteReader& in) : in_(in) {}

  template <typename... T>
  void operator()(T&... values) {
    (get(values), ...);
  }

 private:
  template <typename T>
  void get(T& value) {
    if constexpr (plain_field<T>) {
      value = in_.get<T>();
    } else {
      fields(*this, value);
    }
    if constexpr (requires { check_fields(value); }) check_fields(value);
  }
  void get(bool& value) { value = in_.get<std::uint8_t>() != 0; }
  void get(std::string& value) { value = in_.get_text(); }
  // An announced length is not believed before the bytes have come.
  template <typename T>
  void get(std::vector<T>& values) {
    if constexpr (plain_elements<T>) {
      values = in_.get_list<T>();
    } else {
      values.clear();
      for (auto left = in_.get<std::uint64_t>(); left > 0; --left) get(values.emplace_back());
    }
  }
  template <typename T, std::size_t n>
  void get(std::array<T, n>& values) {
    for (T& value : values) get(value);
  }
  template <typename K, typename V>
  void get(std::map<K, V>& values) {
    values.clear();
    for (auto left = in_.get<std::uint64_t>(); left > 0; --left) {
      K key;
      get(key);
      get(values[key]);
    }
  }
  template <typename T>
  void get(std::optional<T>& value) {
    value.reset();
    bool there = false;
    get(there);
    if (there) get(value.emplace());
  }

  ByteReader& in_;
};

// One value after another, in bytes that hold others, too.
template <typename... T>
void write_fields(ByteWriter& out, const T&... values) {
  FieldWriter archive(out);
  archive(values...);
}

//   Throws  MalformedMessage when the bytes do not begin with such a value, and nothing else
template <typename T>
T read_fields(ByteReader& in) {
  FieldReader archive(in);
  T value{};
  archive(value);
  return value;
}

template <typename... T>
Bytes fields_to_bytes(const T&... values) {
  ByteWriter out;
  write_fields(out, values...);
  return out.take();
}

//   Throws  MalformedMessage when the bytes are not such a value, and nothing else
template <typename T>
T fields_from_bytes(std::span<const std::byte> bytes) {
  ByteReader in(bytes);
  T value = read_fields<T>(in);
  if (!in.done()) throw MalformedMessage("malformed message: there is more than was expected");
  return value;
}

}  // namespace lockstep
