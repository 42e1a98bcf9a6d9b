// Programs drawn at random that are right: every rank goes through one list of steps in the same
// order and does its part in each. So whatever waits, waits for a rank that is at an earlier step,
// and none of them hangs: the one that is furthest behind can always go on.
//
// Steps: messages (blocking or not, on either side), collectives (blocking or not) in groups that
// splits made, strands that exchange messages beside all this, computing. What is started is waited
// for at some later step. What arrives is compared with what it must be.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/comm/process_group.hpp"
#include "engine/sim/hosts/fiber_host.hpp"

namespace lockstep::test {

struct RandomStep {
  enum Kind : unsigned char { message, collective, split, compute, strands } kind = compute;
  std::size_t group = 0;  // of RandomProgram::groups
  std::int64_t count = 0;
  DType dtype = DType::float32;
  int src = 0, dst = 0, tag = 0;  // message; ranks of the group
  comm::CollectiveKind call = comm::CollectiveKind::barrier;
  ReduceOp op = ReduceOp::sum;
  int root = 0;
  std::vector<int> colors;         // split: by rank of the group
  std::size_t first_made = 0;      // split: the group of color 0, of color 1, …
  std::vector<bool> at_once;       // by global rank: the blocking form
  std::vector<std::size_t> until;  // by global rank: the step before which it is waited for
  std::vector<RandomStep> inner;   // strands: messages that one strand of each rank exchanges
};

struct RandomProgram {
  int ranks = 1;
  std::vector<std::vector<int>> groups;  // global ranks; 0 is the world
  std::vector<RandomStep> steps;
};

RandomProgram random_program(std::uint64_t seed);

// A rank that leaves out its part in one step: the mistake that must be found.
struct Omission {
  int rank;
  std::size_t step;
};
// Drawn among the steps in which ranks need each other; nothing when the program has none.
std::optional<Omission> random_omission(const RandomProgram& program, std::uint64_t seed);

// The part of one rank. Throws Error when a value is not what it must be.
void run_random_program(const RandomProgram& program, sim::FiberRank& self,
                        const std::optional<Omission>& omission = std::nullopt);

}  // namespace lockstep::test
