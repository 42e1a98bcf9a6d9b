// A warp that runs: its lanes in groups, each group with a pc of its own.
//
// The ready group at the lowest pc runs; groups that meet become one. A group that waits for other
// lanes of the warp is ready again when they come. Where nobody is left who could come, it goes on
// without them, with a finding.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/paper/lanes/warp.hpp"

namespace lockstep::paper {

class WarpRunner {
 public:
  //   by_instruction  beside `code`, for what is counted; empty where nothing is
  WarpRunner(Block& block, std::span<const Instruction> code,
             std::span<LineCounters> by_instruction, std::uint32_t number, std::byte* file);

  void begin();  // all lanes of the warp at the first instruction
  // Runs some `budget` instructions, or until no lane can go on. Returns how many were run.
  std::uint64_t run(std::uint64_t budget);
  bool runnable() const;  // some lane can go on
  bool ended() const { return groups_.empty(); }
  std::uint32_t lanes() const { return all_; }  // that the warp began with

  struct Group {
    enum class State : std::uint8_t { ready, waiting, barrier };
    std::uint32_t pc = 0, lanes = 0;
    State state = State::ready;
  };
  std::span<const Group> groups() const { return groups_; }
  void release();  // from the barrier

 private:
  std::size_t choose();
  std::uint32_t limit_of(std::size_t chosen) const;
  void settle(std::size_t chosen, const Instruction& instruction);
  void merge();

  std::span<const Instruction> code_;
  std::span<LineCounters> by_instruction_;
  std::uint32_t all_ = 0;
  Warp warp_;
  std::vector<Group> groups_;
};

}  // namespace lockstep::paper
