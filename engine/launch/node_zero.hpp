// The launcher of node 0: it gathers the others, hosts the store of each attempt, and carries the
// coordinator's commands to everybody.
#pragma once

#include <memory>

#include "engine/launch/address.hpp"
#include "engine/launch/nodes.hpp"

namespace lockstep::launch {

std::unique_ptr<Nodes> lead_alone(const LaunchOptions& options);

// Where membership is fixed: waits for the launchers of all other nodes. Those without a number of
// their own get the numbers that are left, in the order in which they came.
//   Throws  CommError naming the nodes that did not come before the deadline
// Elsewhere they may come at any time; this returns at once.
std::unique_ptr<Nodes> lead(const LaunchOptions& options, Listener listener);

}  // namespace lockstep::launch
