// The launcher of node 0: it gathers the others, hosts the store of each attempt, and carries the
// coordinator's commands to everybody.
#pragma once

#include <memory>

#include "engine/launch/address.hpp"
#include "engine/launch/nodes.hpp"

namespace lockstep::launch {

std::unique_ptr<Nodes> lead_alone(const LaunchOptions& options);

// Waits for the launchers of all other nodes, if membership is fixed. Those without a number of
// their own get the numbers that are left, in the order in which they came. If launchers come and
// go, this returns at once.
//   Throws  CommError naming the nodes that did not come before the deadline
std::unique_ptr<Nodes> lead(const LaunchOptions& options, Listener listener);

}  // namespace lockstep::launch
