// Agreement without a round of its own: every rank writes down what it calls before it arrives, and
// reads what the others wrote when all have arrived, which is before anything else happens.
#pragma once

#include <string>

#include "engine/comm/worlds/ordered_calls.hpp"
#include "engine/comm/worlds/shm/control.hpp"

namespace lockstep::comm::shm {

// Writes what `rank` calls, but not where its tensors are.
SharedCallRecord& write_record(const Control& control, int rank, int size, const Call& call);

// Returns an empty text if all ranks make the same call, and otherwise the sentence that says who
// calls what. Called when all have arrived.
std::string disagreement(const Control& control, int rank, int size, const RankNames& names,
                         std::uint64_t number);

// "collective no. 3, all_reduce (sum) of 100 float32 at tests/comm/x.cpp:21"
std::string text_of(const Control& control, int rank, int size, std::uint64_t number);

// Says in one sentence what is known of a rank that has not come to the collective `number`.
std::string last_deed(const Control& control, int rank, int size, const RankNames& names,
                      std::uint64_t number);

// Publishes what `line`'s rank is waiting for; the rank itself calls it. An empty text means
// nothing.
void say_doing(RankLine& line, const std::string& what);
std::string doing(const RankLine& line);

}  // namespace lockstep::comm::shm
