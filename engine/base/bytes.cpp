#include "engine/base/bytes.hpp"

namespace lockstep {

ByteWriter& ByteWriter::put_text(const std::string& value) {
  return put_bytes(std::as_bytes(std::span(value)));
}

ByteWriter& ByteWriter::put_bytes(std::span<const std::byte> value) {
  put(static_cast<std::uint64_t>(value.size()));
  return raw(value.data(), value.size());
}

ByteWriter& ByteWriter::raw(const void* data, std::size_t size) {
  const auto* from = static_cast<const std::byte*>(data);
  bytes_.insert(bytes_.end(), from, from + size);
  return *this;
}

std::span<const std::byte> ByteReader::get_bytes(std::uint64_t bytes_max) {
  const auto size = get<std::uint64_t>();
  if (size > bytes_max) {
    throw MalformedMessage(
        text("malformed message: ", size, " bytes announced, at most ", bytes_max));
  }
  return next(size);
}

std::string ByteReader::get_text(std::uint64_t bytes_max) {
  const auto part = get_bytes(bytes_max);
  return {reinterpret_cast<const char*>(part.data()), part.size()};
}

std::span<const std::byte> ByteReader::next(std::uint64_t size) {
  if (size > rest_.size()) {
    throw MalformedMessage(
        text("malformed message: ", size, " bytes announced, ", rest_.size(), " left"));
  }
  const auto part = rest_.first(static_cast<std::size_t>(size));
  rest_ = rest_.subspan(static_cast<std::size_t>(size));
  return part;
}

std::uint64_t checksum_of(std::span<const std::byte> bytes) {
  constexpr std::uint64_t prime = 0x100000001b3ULL;
  std::uint64_t hash = 0xcbf29ce484222325ULL ^ bytes.size();
  std::size_t at = 0;
  for (; at + 8 <= bytes.size(); at += 8) {
    std::uint64_t word;
    std::memcpy(&word, bytes.data() + at, 8);
    hash = (hash ^ word) * prime;
    hash ^= hash >> 32;
  }
  for (; at < bytes.size(); ++at) hash = (hash ^ std::to_integer<std::uint64_t>(bytes[at])) * prime;
  return hash;
}

}  // namespace lockstep
