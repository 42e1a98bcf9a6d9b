// A struct's fields, listed once, written and read by the same list:
//
//   template <typename Archive>
//   void fields(Archive& archive, Endpoint& endpoint) {
//     archive(endpoint.host, endpoint.port);
//   }
//
// The list is found by argument-dependent lookup. Numbers, truth values, enumerations, texts, and
// vectors, maps and optionals of what has fields need no list of their own. Reading trusts nothing,
// as ByteReader does.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "engine/base/bytes.hpp"

namespace lockstep {

class FieldWriter {
 public:
  template <typename... T>
  void operator()(const T&... values) {
    (put(values), ...);
  }
  Bytes take() { return out_.take(); }

 private:
  template <typename T>
  void put(const T& value) {
    if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) {
      out_.put(value);
    } else {
      fields(*this, const_cast<T&>(value));  // the list is one for both directions
    }
  }
  void put(const std::string& value) { out_.put_text(value); }
  template <typename T>
  void put(const std::vector<T>& values) {
    out_.put(static_cast<std::uint64_t>(values.size()));
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

  ByteWriter out_;
};

class FieldReader {
 public:
  // The bytes must outlive the reader.
  explicit FieldReader(std::span<const std::byte> bytes) : in_(bytes) {}

  template <typename... T>
  void operator()(T&... values) {
    (get(values), ...);
  }
  bool done() const { return in_.done(); }

 private:
  template <typename T>
  void get(T& value) {
    if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) {
      value = in_.get<T>();
    } else {
      fields(*this, value);
    }
  }
  void get(std::string& value) { value = in_.get_text(); }
  // Element by element: what is announced is not believed before it has come.
  template <typename T>
  void get(std::vector<T>& values) {
    values.clear();
    for (auto left = in_.get<std::uint64_t>(); left > 0; --left) get(values.emplace_back());
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
    if (in_.get<bool>()) get(value.emplace());
  }

  ByteReader in_;
};

template <typename T>
Bytes fields_to_bytes(const T& value) {
  FieldWriter out;
  out(value);
  return out.take();
}

//   Throws  MalformedMessage when the bytes are not such a value, and nothing else
template <typename T>
T fields_from_bytes(std::span<const std::byte> bytes) {
  FieldReader in(bytes);
  T value;
  in(value);
  if (!in.done()) throw MalformedMessage("malformed message: there is more than was expected");
  return value;
}

}  // namespace lockstep
