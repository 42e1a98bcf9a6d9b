// What travels between the store's client and server. A frame is a 32-bit length and a body.
//   Request  command, then: set key value | add key amount | check key | wait seconds n key…
//   Reply    answer, then a text: the value, the new number, the missing key or the complaint
// A get is a wait and then a fetch in one request: `get seconds key`.
#pragma once

#include <cstdint>

namespace lockstep::comm::protocol {

enum class Command : std::uint8_t { set, get, add, check, wait };
enum class Answer : std::uint8_t { ok, absent, late, refused };

// Longest body either side accepts. Addresses and small reports are what a store is for.
inline constexpr std::uint32_t body_bytes_max = 1U << 20;

}  // namespace lockstep::comm::protocol
