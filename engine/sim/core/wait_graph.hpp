// The wait-for graph of a run in which nothing can go on. Internal to engine/sim.
//
// A node is a live strand, each of which is blocked. It has an edge to every live strand that could
// let it go on: those of the other side of a message, of the members that have not entered a
// collective, the strand it joins, and from a strand that pauses to all others of its rank.
//
// Cost: linear in strands and members, also where thousands wait in one collective for thousands.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "engine/sim/core/core_state.hpp"

namespace lockstep::sim {

// The request on which a strand is blocked; null if nothing blocks it.
const Request* blocking_request_of(const StrandState& strand);

struct WaitNode {
  Actor actor;
  const StrandState* strand;
  const Request* request;                 // what it is blocked on
  std::optional<int> peer;                // of a message: the global rank
  std::optional<std::size_t> collective;  // index into collectives
};

class WaitGraph {
 public:
  using Node = WaitNode;
  // A collective or split that some members have entered, and some not.
  struct Collective {
    std::vector<std::size_t> waiting;  // nodes
    std::vector<int> missing;          // global ranks
  };

  WaitGraph(const std::vector<std::map<int, StrandState>>& strands,
            const std::vector<Group>& groups);

  const std::vector<Node>& nodes() const { return nodes_; }
  const Collective& collective_of(const Node& node) const { return collectives_[*node.collective]; }
  bool has_edge(const Node& node) const {
    Cursor cursor;
    return next_edge(node, cursor).has_value();
  }

  // Nodes of a cycle in order, the lowest first, or nothing. Depth-first from the lowest rank; the
  // path is no recursion, since a ring of thousands would overflow the stack.
  std::vector<std::size_t> cycle() const;

 private:
  // The point that a walk over the edges of a node has reached.
  struct Cursor {
    std::size_t rank = 0, node = 0;  // the how-manieth of the ranks it waits for, and node of it
  };
  std::optional<std::size_t> next_edge(const Node& from, Cursor& cursor) const;

  std::vector<Node> nodes_;
  std::vector<std::size_t> first_;  // by rank: its first node; one more at the end
  std::vector<Collective> collectives_;
};

}  // namespace lockstep::sim
