// The launchers of one run, as one of them sees them. Node 0 decides (coordinator.hpp) and carries
// its commands to the others and to itself; the rest connect to it and obey. With one node there is
// nobody to connect to, and nothing else differs.
//
//   to node 0    hello {nodes, nodes_min, node, ranks, host, command} · failed {} ·
//                interrupted {who} · ended {failures, stopped}
//   from node 0  refused {why} · welcome {told} · begin {…Plan, report} · stop {saves} ·
//                wait {report} · end {code, report}
#pragma once

#include <poll.h>

#include <memory>
#include <optional>
#include <vector>

#include "engine/comm/stores/socket.hpp"
#include "engine/launch/coordinator.hpp"
#include "engine/launch/launcher.hpp"

namespace lockstep::launch {

// The data with which a launcher starts its ranks of one attempt.
struct Plan {
  int attempt = 0;
  int restarts = 0;  // of the attempts before, those that failures have caused
  int max_restarts = 0;
  std::string run_id;
  std::vector<int> ranks_per_node;
  int node = 0;            // this one
  comm::Endpoint store;    // of this attempt
  comm::Endpoint master;   // MASTER_ADDR and MASTER_PORT
  std::string local_addr;  // of this node
  std::string mark;        // of this launcher, see guard.hpp; not sent to others
  bool elastic = false;    // launchers come and go
};

struct Order {
  Command command;
  Plan plan;  // of a `begin`
};

class Nodes {
 public:
  virtual ~Nodes() = default;
  // Node 0 gives the first order.
  virtual void start() = 0;
  // The ranks of an attempt have been forked on this node: now threads may run (the store's).
  virtual void begun() = 0;
  // Adds the descriptors that serve() wants to be called for.
  virtual void add_to(std::vector<pollfd>& entries) const = 0;
  // When serve() wants to be called, whatever comes; nothing: never.
  virtual std::optional<comm::Deadline> serves_at() const { return std::nullopt; }
  // Returns the orders for this node since the last call; never waits.
  virtual std::vector<Order> serve() = 0;
  // Reports of what happened on this node. `failed` also of ranks that were stopped, and could not
  // save.
  virtual void failed() = 0;
  virtual void interrupted(const std::string& who) = 0;
  virtual void ended(const std::vector<Failure>& failures, int stopped) = 0;
};

// The command as node 0 compares it where launchers come and go: a program may lie elsewhere, but
// has its name, and the words behind it are the same.
std::string command_to_compare(const LaunchOptions& options);

// Meets the other launchers; returns when all are there, or this one is known to node 0 and it has
// begun.
//   Throws  UsageError when node 0 refuses this one, CommError naming the nodes that did not come
std::unique_ptr<Nodes> meet_nodes(const LaunchOptions& options);

}  // namespace lockstep::launch
