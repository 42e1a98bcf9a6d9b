// One access of a lane to memory of any space, checked; and what a warp's request costs, counted.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "engine/paper/lanes/table.hpp"
#include "engine/paper/lanes/warp.hpp"

namespace lockstep::paper {

using Space = Entry::Space;

// Where the bytes lie that a lane may touch, or null (fault set, finding added).
std::byte* reach(Warp& warp, Space space, Touch touch, std::uint64_t address, std::size_t bytes,
                 std::uint32_t lane);

// The address that a lane's operand names; `wide` where the register has 64 bits.
inline std::uint64_t address_of(const Warp& warp, const Instruction& instruction, std::size_t slot,
                                std::uint32_t lane) {
  const std::uint64_t base = instruction.wide ? at<std::uint64_t>(warp, instruction.at[slot])[lane]
                                              : at<std::uint32_t>(warp, instruction.at[slot])[lane];
  return base + static_cast<std::uint64_t>(instruction.offset);
}

// Counts the request of all lanes that take part: 32-byte sectors, or passes over the banks.
void count_request(Warp& warp, const Instruction& instruction, std::size_t slot, Space space,
                   std::size_t bytes);

}  // namespace lockstep::paper
