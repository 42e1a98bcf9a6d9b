// The view of a handler: its warp, the block that the warp belongs to, and the block's shared
// memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine/paper/counters.hpp"
#include "engine/paper/findings.hpp"
#include "engine/paper/lanes/instruction.hpp"
#include "engine/paper/memory/memory.hpp"

namespace lockstep::paper {

// Generic addresses of shared and local memory begin here; no device address is as high.
inline constexpr std::uint64_t shared_window = std::uint64_t{1} << 60;
inline constexpr std::uint64_t local_window = std::uint64_t{2} << 60;
inline constexpr std::uint64_t window_bytes = std::uint64_t{1} << 32;

enum class Fault { none, illegal, misaligned, trap };

// The block that runs. Made once a launch, and begun anew for each block.
struct Block final : Witness {
  Memory* memory = nullptr;
  Findings* findings = nullptr;
  Counters* counters = nullptr;
  LineCounters* line = nullptr;                     // of the running instruction, where `counting`
  const std::string* kernel = nullptr;              // demangled
  const std::vector<std::string>* files = nullptr;  // of the kernel
  Dim3 size, grid, index;
  std::uint32_t number = 0, threads = 0;
  Operation operation = 0;
  std::uint32_t epoch = 0;
  bool checks = true, counting = false;
  std::span<const std::byte> parameters;
  std::size_t local_bytes = 0;   // a thread
  std::vector<std::byte> local;  // thread by thread
  std::vector<std::byte> shared;
  struct SharedTrace {
    std::uint32_t thread : 10 = 0, epoch : 15 = 0;
    std::uint32_t bytes : 4 = 0;
    std::uint32_t atomic : 1 = 0, many_warps : 1 = 0, there : 1 = 0;
  };
  struct SharedCell {
    SharedTrace write, read;
    std::uint32_t initialised = 0;
  };
  std::vector<SharedCell> shadow;  // a cell for four bytes of shared memory
  // The state of bar.red: what lanes bring to the barrier that is being waited at, and the result
  // of the last one.
  std::uint32_t votes_true = 0, votes = 0, result_true = 0, result_votes = 0;
  const Instruction* running = nullptr;  // for where()
  Fault fault = Fault::none;

  Where where(std::uint32_t thread) const override;
  void begin(std::uint32_t block_number);
  void tell(Kind kind, std::uint32_t thread, std::string sentence) const {
    findings->add(kind, where(thread), std::move(sentence));
  }
  // One access of a thread to shared memory; false: it must not be carried out (finding added).
  bool touch_shared(Touch touch, std::uint64_t offset, std::size_t bytes, std::uint32_t thread);
  // The same where nothing is wrong: true, and noted. Else false, and touch_shared() decides.
  template <Touch touch>
  bool touch_shared_quickly(std::uint64_t offset, std::size_t bytes, std::uint32_t thread);

 private:
  template <Touch touch>
  bool check_shared_quickly(SharedCell& cell, std::uint32_t bytes, std::uint32_t thread) const;
  void check_shared(Touch touch, std::uint64_t offset, std::uint32_t bytes, std::uint32_t thread);
  void race(Touch touch, const SharedTrace& other, const char* other_did, std::uint64_t offset,
            std::uint32_t thread) const;
};

// The request of an instruction to the scheduler.
enum class Event : std::uint8_t {
  none,
  branch,   // lanes of `taken` go to the target
  exit,     // the lanes that ran it end
  barrier,  // they wait for the block
  wait,     // they wait for other lanes of their warp, and run the instruction again
  fault,
};

struct Warp {
  std::byte* file = nullptr;  // registers
  Block* block = nullptr;
  std::uint32_t number = 0;   // in the block
  std::uint32_t lanes = 0;    // that take part in the running instruction
  std::uint32_t alive = 0;    // that have not ended
  std::uint32_t waiting = 0;  // that wait at a barrier
  bool forced = false;        // lanes that are waited for will not come: go on without them
  Event event = Event::none;
  std::uint32_t taken = 0;

  std::uint32_t thread(std::uint32_t lane) const { return number * warp_lanes + lane; }
};

// A register as an array of 32 lanes. Registers are bytes that any type may name.
template <typename T>
struct Lanes {
  using Element = T;  // the halves say themselves that they may alias
};
template <typename T>
requires std::is_arithmetic_v<T>
struct Lanes<T> {
  using Element [[gnu::may_alias]] = T;
};
template <typename T>
typename Lanes<T>::Element* at(const Warp& warp, std::uint32_t place) {
  return reinterpret_cast<typename Lanes<T>::Element*>(warp.file + place);
}
inline std::uint32_t predicate(const Warp& warp, std::uint32_t place) {
  return *at<std::uint32_t>(warp, place);
}
inline void set_predicate(const Warp& warp, std::uint32_t place, std::uint32_t bits) {
  std::uint32_t& word = *at<std::uint32_t>(warp, place);
  word = (word & ~warp.lanes) | (bits & warp.lanes);
}

// Calls body(lane) for each lane of `lanes`.
template <typename Body>
void each_lane(std::uint32_t lanes, const Body& body) {
  for (; lanes != 0; lanes &= lanes - 1) body(static_cast<std::uint32_t>(__builtin_ctz(lanes)));
}

}  // namespace lockstep::paper
