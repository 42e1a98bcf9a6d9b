// One collective call or message as its peers see it: a record of fixed size. NCCL compares
// nothing, so ranks that call different things hang or get wrong values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/comm/worlds/ordered_calls.hpp"

namespace lockstep::comm {

struct CallFingerprint {
  std::uint64_t number = 0;  // of a collective, or of a message in its pair; from 1
  std::int64_t count = 0;
  std::uint64_t counts = 0;  // of unequal parts that must agree: a hash; else 0
  std::int32_t root = -1, tag = 0, line = 0;
  std::uint8_t kind = 0, op = 0, dtype = 0, unequal = 0;
  std::uint8_t on_host = 0;  // its tensors, or a barrier
  char file[79] = {};
};

CallFingerprint fingerprint_of(const Call& call, int size);
CallFingerprint fingerprint_of(const MessageCall& call, std::uint64_t number);

// "collective no. 3, all_reduce (sum) of 100 float32 at tests/comm/x.cpp:21"
std::string text_of(const CallFingerprint& collective);

// Empty where all ranks call the same collective, else the sentence that says who calls what.
std::string disagreement(const std::vector<CallFingerprint>& of_ranks, const RankNames& names);

// Compares, for an all_to_all with unequal parts, what each rank sends to rank `me` with what `me`
// expects. Returns an empty text if all fits.
std::string disagreement(const std::vector<std::int64_t>& sent,
                         const std::vector<std::int64_t>& expected, int me, const RankNames& names);

// Compares the two ends of a message. Returns an empty text if they fit.
std::string mismatch(const CallFingerprint& sent, const CallFingerprint& received, int src, int dst,
                     const RankNames& names);

}  // namespace lockstep::comm
