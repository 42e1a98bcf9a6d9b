// The references of lessons 03 and 06 that are made of messages, run one after the other on numbers
// in which rounding depends on the order of summation. Each part fixes its order, so every world
// must give the same bits, whatever the schedule.
#pragma once

#include <cstdint>

#include "engine/comm/process_group.hpp"

namespace lockstep::test {

// A hash of everything that this rank holds afterwards.
std::uint64_t bits_of_parts(comm::ProcessGroup& group);

}  // namespace lockstep::test
