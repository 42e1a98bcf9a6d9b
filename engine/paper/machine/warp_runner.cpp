// The inner loop, and what follows from branches, ends and waits.
#include "engine/paper/machine/warp_runner.hpp"

#include <algorithm>
#include <limits>

namespace lockstep::paper {
namespace {

constexpr std::uint32_t no_limit = std::numeric_limits<std::uint32_t>::max();
using State = WarpRunner::Group::State;

// A branch is the work of all lanes that come to it, whichever of them it takes.
void count(Block& block, const Instruction& instruction, std::uint32_t lanes_here,
           std::uint32_t active) {
  if (instruction.counted == 0) return;
  if (instruction.target != 0) active = lanes_here;
  const auto lanes = static_cast<std::uint64_t>(__builtin_popcount(active));
  for (Counters* counters : {block.counters, &block.line->counters}) {
    counters->lane_instructions += lanes;
    counters->flops += lanes * instruction.flops;
  }
  ++block.line->counters.instructions;
}

}  // namespace

WarpRunner::WarpRunner(Block& block, std::span<const Instruction> code,
                       std::span<LineCounters> by_instruction, std::uint32_t number,
                       std::byte* file)
    : code_(code), by_instruction_(by_instruction) {
  const std::uint32_t first = number * warp_lanes;
  const std::uint32_t count = std::min(warp_lanes, block.threads - first);
  all_ = count == warp_lanes ? ~0U : (1U << count) - 1;
  warp_.file = file;
  warp_.block = &block;
  warp_.number = number;
}

void WarpRunner::begin() {
  warp_.alive = all_;
  groups_.assign(1, {0, all_, State::ready});
}

bool WarpRunner::runnable() const {
  return std::ranges::any_of(groups_, [](const Group& g) { return g.state != State::barrier; });
}

void WarpRunner::release() {
  for (Group& group : groups_) group.state = State::ready;
  merge();
}

// The ready group at the lowest pc; else a waiting one, which is then forced on.
std::size_t WarpRunner::choose() {
  std::size_t best = groups_.size();
  for (const State state : {State::ready, State::waiting}) {
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      if (groups_[i].state != state) continue;
      if (best == groups_.size() || groups_[i].pc < groups_[best].pc) best = i;
    }
    if (best != groups_.size()) {
      warp_.forced = state == State::waiting;
      return best;
    }
  }
  return best;
}

// The instruction at which the chosen group meets another one if it runs straight on.
std::uint32_t WarpRunner::limit_of(std::size_t chosen) const {
  std::uint32_t limit = no_limit;
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    if (i == chosen || groups_[i].state == State::barrier || groups_[i].pc <= groups_[chosen].pc)
      continue;
    limit = std::min(limit, groups_[i].pc);
  }
  return limit;
}

std::uint64_t WarpRunner::run(std::uint64_t budget) {
  Block& block = *warp_.block;
  Counters& counters = *block.counters;
  std::uint64_t done = 0;
  while (done < budget) {
    const std::size_t chosen = choose();
    if (chosen == groups_.size()) break;
    const std::uint32_t lanes = groups_[chosen].lanes;
    const std::uint32_t limit = limit_of(chosen);
    std::uint32_t pc = groups_[chosen].pc;
    do {
      const Instruction& instruction = code_[pc];
      std::uint32_t active = lanes;
      if (instruction.guard != Instruction::unguarded) {
        active &= predicate(warp_, instruction.guard) ^ instruction.guard_flip;
      }
      ++done;
      counters.instructions += instruction.counted;
      if (block.counting) {
        block.line = &by_instruction_[pc];
        count(block, instruction, lanes, active);
      }
      if (active == 0) {
        ++pc;
        continue;
      }
      warp_.lanes = active;
      warp_.event = Event::none;
      block.running = &instruction;
      instruction.run(warp_, instruction);
      if (warp_.event == Event::none) {
        ++pc;
      } else if (warp_.event == Event::branch && active == lanes && groups_.size() == 1) {
        pc = instruction.target;
      } else {
        groups_[chosen].pc = pc;
        settle(chosen, instruction);
        pc = no_limit;  // groups have changed
        break;
      }
    } while (pc < limit && done < budget && !warp_.forced);
    if (warp_.event == Event::fault) break;
    if (pc != no_limit) {
      groups_[chosen].pc = pc;
      groups_[chosen].state = State::ready;
      if (groups_.size() > 1) merge();
    }
  }
  return done;
}

void WarpRunner::settle(std::size_t chosen, const Instruction& instruction) {
  Group& group = groups_[chosen];
  const std::uint32_t active = warp_.lanes, rest = group.lanes & ~active, pc = group.pc;
  group.state = State::ready;
  const auto part = [&](const Group& with) {  // `active` go their way, the rest go on
    if (rest == 0) {
      group = with;
      return;
    }
    group = {pc + 1, rest, State::ready};
    groups_.push_back(with);
  };
  switch (warp_.event) {
    case Event::none:
    case Event::fault:
      return;
    case Event::branch:
      if (rest != 0) {
        ++warp_.block->counters->divergent_branches;
        if (warp_.block->counting) ++warp_.block->line->counters.divergent_branches;
      }
      part({instruction.target, active, State::ready});
      break;
    case Event::exit:
      warp_.alive &= ~active;
      if (rest == 0)
        groups_.erase(groups_.begin() + static_cast<std::ptrdiff_t>(chosen));
      else
        group = {pc + 1, rest, State::ready};
      break;
    case Event::barrier:
      part({pc + 1, active, State::barrier});
      break;
    case Event::wait:
      part({pc, active, State::waiting});
      break;
  }
  merge();
}

// Groups at one pc are one. Who waits for lanes is ready again when any come, or may have ended.
void WarpRunner::merge() {
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    for (std::size_t j = groups_.size(); j-- > i + 1;) {
      Group &a = groups_[i], &b = groups_[j];
      const bool barriers = a.state == State::barrier, other_barriers = b.state == State::barrier;
      if (a.pc != b.pc || barriers != other_barriers) continue;
      a.lanes |= b.lanes;
      if (!barriers) a.state = State::ready;
      groups_.erase(groups_.begin() + static_cast<std::ptrdiff_t>(j));
    }
  }
}

}  // namespace lockstep::paper
