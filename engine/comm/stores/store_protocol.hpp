// The messages between the store's client and server. A frame is a 32-bit length and a body.
//   Request  command, then: set key value | add key amount | append key value | check key |
//            compare_set key expected desired | delete_key key | count_keys prefix |
//            wait seconds key… | get seconds key, which is a wait and then a fetch
//   Reply    answer, then a text: the value, the new number, the missing key or the complaint
#pragma once

#include <cstdint>

#include "engine/comm/store.hpp"

namespace lockstep::comm::protocol {

enum class Command : std::uint8_t {
  set,
  get,
  add,
  check,
  wait,
  append,
  compare_set,
  delete_key,
  count_keys
};
enum class Answer : std::uint8_t { ok, absent, late, refused };

// Longest body either side accepts: a key with two values that the store can keep.
inline constexpr std::uint32_t body_bytes_max = 2 * store_bytes_max + 256;

}  // namespace lockstep::comm::protocol
