// A hash that tells nothing of its key, and of no other word: SipHash-2-4 [AB12].
#pragma once

#include <bit>
#include <cstdint>

namespace lockstep::grader {

inline std::uint64_t keyed_hash(std::uint64_t key_0, std::uint64_t key_1, std::uint64_t word) {
  std::uint64_t a = key_0 ^ 0x736f6d6570736575, b = key_1 ^ 0x646f72616e646f6d,
                c = key_0 ^ 0x6c7967656e657261, d = key_1 ^ 0x7465646279746573;
  const auto rounds = [&](int count) {
    for (; count > 0; --count) {
      a += b, b = std::rotl(b, 13) ^ a, a = std::rotl(a, 32);
      c += d, d = std::rotl(d, 16) ^ c;
      a += d, d = std::rotl(d, 21) ^ a;
      c += b, b = std::rotl(b, 17) ^ c, c = std::rotl(c, 32);
    }
  };
  constexpr std::uint64_t length = std::uint64_t{sizeof word} << 56;
  for (const std::uint64_t block : {word, length}) {
    d ^= block;
    rounds(2);
    a ^= block;
  }
  c ^= 0xff;
  rounds(4);
  return a ^ b ^ c ^ d;
}

}  // namespace lockstep::grader
