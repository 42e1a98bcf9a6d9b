// Spaces: how an address of each is checked and found, and what requests cost.
#include "engine/paper/lanes/access.hpp"

#include <algorithm>
#include <span>

namespace lockstep::paper {
namespace {

std::byte* fail(Warp& warp, Fault fault) {
  warp.event = Event::fault;
  warp.block->fault = fault;
  return nullptr;
}

std::byte* reach_local(Warp& warp, std::uint64_t offset, std::size_t bytes, std::uint32_t lane) {
  Block& block = *warp.block;
  if (offset > block.local_bytes || bytes > block.local_bytes - offset) {
    block.tell(Kind::out_of_bounds, warp.thread(lane),
               "an access of " + std::to_string(bytes) + " bytes at byte " +
                   std::to_string(static_cast<std::int64_t>(offset)) +
                   " of the thread's local memory of " + std::to_string(block.local_bytes) +
                   " bytes; the index of a local array is wrong");
    return fail(warp, Fault::illegal);
  }
  return block.local.data() + warp.thread(lane) * block.local_bytes + offset;
}

// Between neighbours that both take part.
Apart apart(const Warp& warp, const Instruction& instruction, std::size_t slot) {
  Apart all;
  each_lane(warp.lanes & (warp.lanes >> 1), [&](std::uint32_t lane) {
    const std::uint64_t here = address_of(warp, instruction, slot, lane);
    const std::uint64_t next = address_of(warp, instruction, slot, lane + 1);
    all += {Apart::State::same, static_cast<std::int64_t>(next - here)};
  });
  return all;
}

}  // namespace

std::byte* reach(Warp& warp, Space space, Touch touch, std::uint64_t address, std::size_t bytes,
                 std::uint32_t lane) {
  Block& block = *warp.block;
  if (address % bytes != 0) {
    block.tell(Kind::misaligned, warp.thread(lane),
               "an access of " + std::to_string(bytes) + " bytes at an address that is " +
                   std::to_string(address % bytes) + " past a multiple of " +
                   std::to_string(bytes) + "; a pointer was cast to a wider type");
    return fail(warp, Fault::misaligned);
  }
  if (space == Space::generic) {
    if (address - shared_window < window_bytes) {
      space = Space::shared, address -= shared_window;
    } else if (address - local_window < window_bytes) {
      space = Space::local, address -= local_window;
    }
  }
  const std::uint32_t thread = warp.thread(lane);
  switch (space) {
    case Space::shared:
      if (!block.touch_shared(touch, address, bytes, thread)) return fail(warp, Fault::illegal);
      return block.shared.data() + address;
    case Space::local:
      return reach_local(warp, address, bytes, lane);
    case Space::parameter:
      break;  // these have handlers of their own
    case Space::generic:
    case Space::global:
    case Space::constant: {
      const Toucher toucher{block.operation, block.number, thread, block.epoch, &block};
      if (!block.memory->touch(touch, address, bytes, toucher)) return fail(warp, Fault::illegal);
      return block.memory->alias(address);
    }
  }
  return fail(warp, Fault::illegal);
}

void count_request(Warp& warp, const Instruction& instruction, std::size_t slot, Space space,
                   std::size_t bytes) {
  if (space != Space::shared && space != Space::global && space != Space::generic) return;
  Counters request;
  std::array<std::uint64_t, 4 * warp_lanes> units{};
  std::size_t count = 0;
  const auto sorted_units = [&] {
    const auto end = units.begin() + static_cast<std::ptrdiff_t>(count);
    std::sort(units.begin(), end);
    return std::span(units.begin(), std::unique(units.begin(), end));
  };
  if (space == Space::shared) {
    // 32 banks of 4 bytes; lanes that name one word share it. Wider accesses take more passes.
    each_lane(warp.lanes, [&](std::uint32_t lane) {
      const std::uint64_t address = address_of(warp, instruction, slot, lane);
      for (std::size_t at = 0; at < bytes; at += 4) units[count++] = (address + at) / 4;
    });
    std::array<std::uint32_t, 32> banks{};
    const auto words = sorted_units();
    for (const std::uint64_t word : words) ++banks[word % 32];
    request.shared_requests = 1;
    request.bank_passes = *std::max_element(banks.begin(), banks.end());
    request.passes_needed = (words.size() + 31) / 32;
  } else {
    const auto names = [&](std::uint64_t unit_bytes) {
      count = 0;
      each_lane(warp.lanes, [&](std::uint32_t lane) {
        units[count++] = address_of(warp, instruction, slot, lane) / unit_bytes;
      });
      return sorted_units().size();
    };
    request.device_requests = 1;
    request.sectors_needed = (names(bytes) * bytes + 31) / 32;
    request.sectors = names(32);
  }
  *warp.block->counters += request;
  warp.block->line->counters += request;
  (space == Space::shared ? warp.block->line->shared : warp.block->line->device) +=
      apart(warp, instruction, slot);
}

}  // namespace lockstep::paper
