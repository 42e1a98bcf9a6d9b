// The numbers under which Gloo matches operations, so that operations that differ never meet.
#pragma once

#include <cstdint>

#include "engine/comm/worlds/ordered_calls.hpp"

namespace lockstep::comm {

// A number of a collective that is equal on two ranks only if all that must agree does (or by a
// chance of 2^-64).
std::uint64_t agreement_of(const Call& call, int size);
// Gloo's tag of a collective, made of the agreement (a chance of 2^-32), and of the check round
// before it, made of the collective's number only, so that ranks that disagree meet there.
std::uint32_t tag_of(const Call& call, int size);
std::uint32_t check_tag_of(const Call& call);
// Gloo's slot of a message from `src` to `dst`: sender and receiver come to the same one if tag,
// count and dtype agree (or by a chance of 2^-54).
std::uint64_t slot_of(const MessageCall& call, int src, int dst);

}  // namespace lockstep::comm
