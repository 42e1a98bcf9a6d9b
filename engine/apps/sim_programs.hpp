// The programs of ./lab sim: each collective over messages, on values of which every rank knows
// what must come of them, and what it costs by its closed form.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "engine/collectives/cost.hpp"
#include "engine/comm/process_group.hpp"

namespace lockstep::apps {

// The arguments of a program on one rank.
struct SimRank {
  comm::ProcessGroup& group;
  std::int64_t count;  // elements that a rank brings, or of one block
  DType dtype;
  Device& device;
  int ranks_per_node;
};

enum class Leaves : unsigned char { copies, sums };  // what a rank brought, or a sum over all ranks

struct SimProgram {
  std::string_view name;
  // Throws  Error when this rank does not hold what it must; without numbers nothing is compared
  void (*run)(const SimRank& self);
  // The cost that the simulator must count. Null for programs that are priced as one operation, for
  // stars, and for programs that depend on the nodes.
  collectives::Cost (*cost)(int ranks, std::int64_t count);
  Leaves leaves = Leaves::copies;  // sums made of messages can be proved on sets of contributors
};

std::span<const SimProgram> sim_programs();

}  // namespace lockstep::apps
