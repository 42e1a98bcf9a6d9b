// One access of a lane to memory of any space, checked; and what a warp's request costs, counted.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "engine/paper/lanes/shared.hpp"
#include "engine/paper/lanes/table.hpp"
#include "engine/paper/lanes/warp.hpp"
#include "engine/paper/memory/quick.hpp"

namespace lockstep::paper {

using Space = Entry::Space;

// The bytes that a lane may touch, or null (fault set, finding added).
std::byte* reach(Warp& warp, Space space, Touch touch, std::uint64_t address, std::size_t bytes,
                 std::uint32_t lane);

// The same, inline, for reads and writes of the spaces that are used most.
template <Space space, Touch touch>
[[gnu::always_inline]] inline std::byte* reach_quickly(Warp& warp, std::uint64_t address,
                                                       std::size_t bytes, std::uint32_t lane) {
  Block& block = *warp.block;
  const std::uint32_t thread = warp.thread(lane);
  if ((address & (bytes - 1)) == 0) {
    if constexpr (space == Space::shared) {
      if (block.touch_shared_quickly<touch>(address, bytes, thread))
        return block.shared.data() + address;
    } else if constexpr (space == Space::global || space == Space::generic) {
      const Toucher toucher{block.operation, block.number, thread, block.epoch, &block};
      if (block.memory->touch_quickly<touch>(address, bytes, toucher))
        return block.memory->alias(address);
    }
  }
  return reach(warp, space, touch, address, bytes, lane);
}

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
