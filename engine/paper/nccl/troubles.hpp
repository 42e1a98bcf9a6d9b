// Finds what is wrong between the ranks of a communicator, and says it in sentences. Every function
// needs the table's lock.
#pragma once

#include <string>

#include "engine/paper/nccl/operation.hpp"
#include "engine/paper/nccl/table.hpp"

namespace lockstep::paper {

// Tells where a rank that has come to the collective has called another one than `rank`.
void compare_calls(SharedTable& table, int ranks, int rank, std::uint64_t number);

// Tells where the two ends of the message that both have come to do not fit.
void compare_messages(SharedTable& table, int from, int to);

// Tells where `rank` waits for one that has destroyed its communicator, or for one that waits, by
// way of others, for `rank`.
void look_for_the_stuck(SharedTable& table, int ranks, int rank);

// Tells that `rank` has waited for too long, and for whom.
void give_up(SharedTable& table, int ranks, int rank);

}  // namespace lockstep::paper
