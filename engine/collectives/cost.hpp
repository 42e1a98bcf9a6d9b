// The cost of the collectives over messages, as code: the closed forms that stand beside each
// contract, for the references of lessons 03 and 06. The simulator counts exactly these numbers; a
// test holds both equal.
//   N ranks; D elements that a rank brings (B, where it brings or gets one block for each rank)
//   P the largest power of two that is not above N
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "engine/sim/model/network.hpp"

namespace lockstep::collectives {

// The critical path of the last rank, as things that it waits for one after the other: latencies,
// messages that leave a port, elements that cross a link.
struct Path {
  std::int64_t latencies = 0;
  std::int64_t messages = 0;
  std::int64_t elements = 0;
  bool operator==(const Path&) const = default;
};

struct Cost {
  std::int64_t depth = 0;     // messages in the longest chain
  std::int64_t messages = 0;  // of all ranks together; a message without elements is none
  std::int64_t elements = 0;  // sent by all ranks together
  std::int64_t busiest = 0;   // elements sent by the rank that sends most
  // Exact where blocks are equally long; otherwise as if all were as long as the longest.
  Path path{};
  bool operator==(const Cost&) const = default;
};

// Virtual seconds on a cluster where every pair of ranks has an equal link of its own.
double seconds(const Path& path, const sim::Link& link, std::int64_t element_bytes);

Cost exchange_cost(int ranks, std::int64_t count);        // N messages of D
Cost broadcast_cost(int ranks, std::int64_t count);       // N-1 of D
Cost reduce_cost(int ranks, std::int64_t count);          // N-1 of D
Cost scatter_cost(int ranks, std::int64_t block);         // N-1 of B
Cost gather_cost(int ranks, std::int64_t block);          // N-1 of B
Cost all_gather_cost(int ranks, std::int64_t block);      // N(N-1) of B
Cost reduce_scatter_cost(int ranks, std::int64_t count);  // N(N-1) of D/N
Cost all_to_all_cost(int ranks, std::int64_t block);      // N(N-1) of B, all blocks equal
Cost barrier_cost(int ranks);                             // N⌈log₂N⌉ of 1

Cost naive_all_reduce_cost(int ranks, std::int64_t count);             // N(N-1) of D
Cost ring_all_reduce_cost(int ranks, std::int64_t count);              // 2N(N-1) of D/N
Cost tree_all_reduce_cost(int ranks, std::int64_t count);              // 2(N-1) of D
Cost halving_doubling_all_reduce_cost(int ranks, std::int64_t count);  // of D/2, D/4, … D/P

// On nodes of so many ranks each. Its path has two parts, one for each kind of link.
struct LevelsCost {
  Cost all;  // without a path. The depth is exact where no message is empty: for N elements or more
  std::int64_t elements_between = 0;  // of `all`, those that leave a node
  Path within, between;
};
LevelsCost hierarchical_all_reduce_cost(int ranks, int ranks_per_node, std::int64_t count);

// That of the part with this name ("ring_all_reduce") among equal links; nullopt: it has none. Of
// all_to_all with equal blocks; of barrier whatever the count.
std::optional<Cost> cost_of(std::string_view part, int ranks, std::int64_t count);

}  // namespace lockstep::collectives
