#include "engine/base/bytes.hpp"

namespace lockstep {

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
