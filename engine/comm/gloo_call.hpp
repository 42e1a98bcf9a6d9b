// One operation of the Gloo backend as a value: what it is called in messages, and the number under
// which Gloo matches it, so that operations that differ never meet.
#pragma once

#include <cstdint>
#include <string>

#include "engine/comm/peers.hpp"

namespace lockstep::comm {

enum class Verb : std::uint8_t { broadcast, all_reduce, all_gather, barrier, send, recv };

struct Call {
  Verb verb = Verb::barrier;
  std::uint64_t number = 0;  // collectives: counted per group, from 1
  std::int64_t count = 0;    // elements of this rank's tensor
  DType dtype = DType::float32;
  ReduceOp op = ReduceOp::sum;
  int peer = 0;  // the root, destination or source
  int tag = 0;
  Where where;
};

std::string text_of(const Call& call);   // "collective no. 3, all_reduce (sum) of 100 float32"
std::string place_of(const Call& call);  // "solutions/06_all_reduce/ring_all_reduce.cpp:21"

// Gloo's tag of a collective: equal on two ranks only if all that must agree does (or by a chance
// of 2^-32).
std::uint32_t tag_of(const Call& call);
// Gloo's slot of a message from `src` to `dst`: sender and receiver come to the same one if tag,
// count and dtype agree (or by a chance of 2^-54).
std::uint64_t slot_of(const Call& call, int src, int dst);

}  // namespace lockstep::comm
