// A decoded instruction: what runs it, and where its operands lie in a warp's register file.
//
// A register is an array of 32 lanes, and its place is the offset of lane 0. Constants, parameters'
// addresses and special registers are registers too, filled before the warp starts. A predicate is
// one word, a bit a lane.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace lockstep::paper {

inline constexpr std::uint32_t warp_lanes = 32;

struct Warp;
struct Instruction;
using Handler = void (*)(Warp&, const Instruction&);

struct Instruction {
  static constexpr std::uint32_t unguarded = ~0U;

  Handler run = nullptr;
  std::array<std::uint32_t, 6> at{};  // places; what each is, the handler knows
  std::int64_t offset = 0;            // of an address; or another immediate of the handler
  std::uint32_t guard = unguarded;    // place of a predicate
  std::uint32_t guard_flip = 0;       // all ones for @!p
  std::uint32_t target = 0;           // of a branch
  std::uint32_t line = 0;
  std::uint16_t file = 0;    // in Kernel::files
  std::uint8_t flops = 0;    // a lane
  std::uint8_t count = 1;    // elements of a vector access
  std::uint8_t counted = 1;  // 0: a part of another instruction
  std::uint8_t wide = 1;     // 0: an address is in a register of 32 bits
};

// A register whose value does not change. Where `variable` is not negative, the address of that
// variable of the module is added.
struct Constant {
  std::uint32_t place = 0;
  std::uint8_t width = 4;  // bytes; 0 is a predicate
  std::uint64_t bits = 0;
  int variable = -1;
};

enum class Special : std::uint8_t {
  tid_x,
  tid_y,
  tid_z,
  ntid_x,
  ntid_y,
  ntid_z,
  ctaid_x,
  ctaid_y,
  ctaid_z,
  nctaid_x,
  nctaid_y,
  nctaid_z,
  laneid,
  warpid,
  nwarpid,
  smid,
  nsmid,
  lanemask_eq,
  lanemask_lt,
  lanemask_le,
  lanemask_gt,
  lanemask_ge,
  dynamic_smem_size,
  total_smem_size
};

}  // namespace lockstep::paper
