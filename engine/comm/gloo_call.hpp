// One operation of the Gloo backend as a value: what it is called in messages, and the number under
// which Gloo matches it, so that operations that differ never meet.
#pragma once

#include <cstdint>
#include <string>

#include "engine/comm/collective.hpp"
#include "engine/comm/peers.hpp"

namespace lockstep::comm {

enum class Verb : std::uint8_t { collective, send, recv };

struct Call {
  Verb verb = Verb::collective;
  std::uint64_t number = 0;  // of the collective in its group, from 1
  Collective collective = {};
  std::int64_t count = 0;  // elements of the message
  DType dtype = DType::uint8;
  int peer = 0;  // the message's destination or source
  int tag = 0;
  Where where = {};
};

// "collective no. 3, all_reduce (sum) of 100 float32", in a group of `size` ranks
std::string text_of(const Call& call, int size);
std::string place_of(const Call& call);  // "solutions/06_all_reduce/ring_all_reduce.cpp:21"

// A number of a collective that is equal on two ranks only if all that must agree does (or by a
// chance of 2^-64).
std::uint64_t agreement_of(const Call& call, int size);
// Gloo's tag of a collective, made of the agreement (a chance of 2^-32), and of the check round
// before it, made of the collective's number only, so that ranks that disagree meet there.
std::uint32_t tag_of(const Call& call, int size);
std::uint32_t check_tag_of(const Call& call);
// Gloo's slot of a message from `src` to `dst`: sender and receiver come to the same one if tag,
// count and dtype agree (or by a chance of 2^-54).
std::uint64_t slot_of(const Call& call, int src, int dst);

}  // namespace lockstep::comm
